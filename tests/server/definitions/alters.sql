create table @t (id int primary key, a int, b varchar(9));
alter table @t modify a bigint unsigned not null first, change b B2 text after id, add c int after B2

create table @t (id int primary key, a int, b int);
alter table @t modify b int after a, add c int after b, modify a int after c

create table @t (id int primary key, a int, b int);
alter table @t change a b int, change b a varchar(5)

create table @t (id int primary key, a int not null, b int not null);
alter table @t drop primary key;
alter table @t add unique u (b), add unique v (a);
alter table @t modify b int;
alter table @t drop key v

create table @t (x int not null, y int not null, z int, unique (y), unique k (x), unique (z));
alter table @t modify z int not null;
alter table @t drop index y;
alter table @t drop column x

create table @t (x int unique, y int not null unique);
alter table @t modify x int not null

create table @t (id int, a int, primary key (id));
alter table @t drop primary key, add primary key (a, id)

create table @t (a varchar(9) not null, b text not null, unique (a(5)), unique (b(9)), unique (a(9)))

create table @t (a tinytext, b text, c mediumtext, d longtext, e varchar(30000), f char(9), g enum('x','y'), h blob) charset latin1;
alter table @t convert to character set utf8mb3;
alter table @t convert to character set utf8mb4, add i text charset ascii;
alter table @t convert to character set ascii

create table @t (a tinytext, b varchar(9), c enum('x '), d char(3)) charset latin1;
alter table @t convert to character set binary

create table @t (id int primary key, a varchar(5)) charset latin1;
alter table @t charset utf8mb4, modify a varchar(9), add b char(3);
alter table @t collate latin1_bin, add c char(3)

create table @t (id int primary key, a varchar(5)) charset latin1;
alter table @t charset utf8mb4, collate utf8mb4_bin, add b char(3)

create table @t (id int primary key, a int);
rename table @t to q@t;
alter table q@t rename to @t, add b int

create table q@t (id int, a varchar(9) charset ascii, b timestamp(3) null, unique (id), key (a(3)));
create table @t like q@t;
drop table q@t

create table @t (id int primary key, a int) partition by range (id) (partition p values less than (5), partition q values less than maxvalue);
alter table @t drop partition p;
alter table @t reorganize partition q into (partition r values less than (9), partition s values less than maxvalue);
alter table @t truncate partition r;
alter table @t partition by hash (id) partitions 3;
alter table @t add partition partitions 2;
alter table @t coalesce partition 4;
alter table @t remove partitioning;
alter table @t add b int

create table @t (id int auto_increment null unique, a int)

-- set: explicit_defaults_for_timestamp
create table @t (id int primary key, a timestamp, b timestamp not null default current_timestamp)

create table @t (id int primary key, a timestamp, b timestamp null);
alter table @t add c timestamp null, modify b timestamp null default null

create table @t (id int primary key, /*!50606 a int, */ /*!999999 b int, */ c int /*!080013 , d int */)
