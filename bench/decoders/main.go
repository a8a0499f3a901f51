// Row images of a binlog decoded with go-mysql: decode PASSES FILE... ; one line per pass.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"
)

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func main() {
	passes, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	for pass := 0; pass < passes; pass++ {
		start, used, images := time.Now(), cpu(), 0
		for _, file := range os.Args[2:] {
			parser := replication.NewBinlogParser()
			parser.SetVerifyChecksum(true)
			err := parser.ParseFile(file, 0, func(event *replication.BinlogEvent) error {
				if rows, ok := event.Event.(*replication.RowsEvent); ok {
					images += len(rows.Rows)
				}
				return nil
			})
			if err != nil {
				panic(err)
			}
		}
		fmt.Printf("%d %.3f %.3f\n", images, time.Since(start).Seconds(), cpu()-used)
	}
}
