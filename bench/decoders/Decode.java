// Row images of a binlog decoded with mysql-binlog-connector-java: java Decode PASSES FILE... ; one line per pass.
import com.github.shyiko.mysql.binlog.BinaryLogFileReader;
import com.github.shyiko.mysql.binlog.event.*;
import com.github.shyiko.mysql.binlog.event.deserialization.*;
import java.io.File;
import java.lang.management.ManagementFactory;

public class Decode {
    public static void main(String[] args) throws Exception {
        var os = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int pass = 0; pass < Integer.parseInt(args[0]); pass++) {
            long wall = System.nanoTime(), cpu = os.getProcessCpuTime(), images = 0;
            for (int i = 1; i < args.length; i++) images += images(args[i]);
            System.out.printf("%d %.3f %.3f%n", images, (System.nanoTime() - wall) / 1e9, (os.getProcessCpuTime() - cpu) / 1e9);
        }
    }

    static long images(String file) throws Exception {
        var deserializer = new EventDeserializer();
        deserializer.setChecksumType(ChecksumType.CRC32);
        deserializer.setCompatibilityMode(
            EventDeserializer.CompatibilityMode.DATE_AND_TIME_AS_LONG,
            EventDeserializer.CompatibilityMode.CHAR_AND_BINARY_AS_BYTE_ARRAY);
        long images = 0;
        try (var reader = new BinaryLogFileReader(new File(file), deserializer)) {
            for (Event event; (event = reader.readEvent()) != null; ) {
                if (event.getData() instanceof WriteRowsEventData rows) images += rows.getRows().size();
                else if (event.getData() instanceof DeleteRowsEventData rows) images += rows.getRows().size();
                else if (event.getData() instanceof UpdateRowsEventData rows) images += 2L * rows.getRows().size();
            }
        }
        return images;
    }
}
