create table @t (id int primary key)

create table @t (id int not null primary key auto_increment)

create table @t (id int auto_increment primary key) auto_increment=10

create table @t (id int key)

create table @t (id serial)

create table @t (id serial primary key)

create table @t (id bigint unsigned auto_increment key comment 'k')

create table @t (a int, b int, primary key (b, a))

create table @t (a int, b int, primary key (B, A))

create table @t (a int, b int, primary key (a asc, b desc))

create table @t (a varchar(20), primary key (a(5)))

create table @t (a text, b int, primary key (a(10), b))

create table @t (a int, primary key using btree (a))

create table @t (a int, primary key (a) using btree comment 'pk')

create table @t (a int, primary key pk_name (a))

create table @t (a int, constraint pk primary key (a))

create table @t (a int, constraint primary key (a))

create table @t (a int, constraint `c` primary key using hash (a)) engine=memory

create table @t (a int)

create table @t (a int not null unique)

create table @t (a int unique)

create table @t (a int unique, b int not null unique)

create table @t (a int not null, b int not null, unique key (b), unique key (a))

create table @t (a int not null, b int, unique key (b), unique key (a))

create table @t (a int not null, b int, unique key u (b, a), unique key (a))

create table @t (a varchar(20) not null, b int not null, unique key (a(5)), unique key (b))

create table @t (a varchar(20) not null, unique key (a(5)))

create table @t (a int not null unique, b int primary key)

create table @t (a int not null unique, b int not null, key (b), unique index z (b), unique y (a, b))

create table @t (a int not null, b int not null unique, unique (a))

create table @t (a int, b int not null, unique (a), primary key (a, b))

create table @t (id int primary key, a int, key (a), index i1 (a, id), key using btree (id), fulltext key ft (tx), tx text)

create table @t (id int primary key, a varchar(30), key a1 (a(5)), key a2 (a(7) desc), key a3 (a) comment 'x, y' key_block_size=1)

create table @t (id int primary key, g int, index (g), constraint c1 check (g > -1), check (g < 100), constraint check (id > -1))

create table @t (id int primary key, pid int, foreign key (pid) references p (id))

create table @t (id int primary key, pid int, constraint fk_t foreign key ix (pid) references p (id) on delete restrict on update no action)

create table @t (id int primary key, pid int, constraint foreign key (pid) references p (id) on update restrict)

create table @t (id int primary key) engine=innodb

create table @t (id int primary key) engine=myisam

create table @t (id int primary key) engine memory

create table @t (id int primary key, c varchar(9)) default charset=latin1

create table @t (id int primary key, c varchar(9)) charset latin1 collate latin1_bin

create table @t (id int primary key, c varchar(9)) character set utf8mb4

create table @t (id int primary key, c varchar(9)) default character set = utf8mb3

create table @t (id int primary key, c varchar(9), d text, e enum('a '), f char(3)) collate=latin1_german1_ci

create table @t (id int primary key, c varchar(9), d text, e enum('a '), f char(3), g tinytext, h longtext) charset binary

create table @t (id int primary key, c varchar(9), d text(300), e set('a '), f char(3)) collate binary

create table @t (id int primary key, c varchar(9), d text charset latin1) charset=binary

create table @t (id int primary key, c varchar(9)) engine=innodb auto_increment=5 default charset=latin1 comment='x, y; z' row_format=dynamic

create table @t (id int primary key, c varchar(9)) max_rows=100, min_rows=1, avg_row_length 10, checksum=0, pack_keys=default

create table @t (id int primary key) stats_persistent=1 stats_auto_recalc=default stats_sample_pages=10 delay_key_write=0

create table @t (id int primary key) comment 'abc'

create table if not exists @t (id int primary key, c char(5))

create table /* a comment */ @t (id int /* inner ) */ primary key, -- line
 c int # other
)

create table @t (id int primary key /*!50606 , c varchar(10) */ /*!999999 , d int */)

create table @t (id int primary key /*! , c varchar(10) charset latin1 */)

create table @t (id int primary key /*!32312 , c int /* nested */ unsigned */)

create table @t (`id` int primary key, `order` int, `a b` int, `a``b` int, `ключ` int, `1` int, 1a int, a$b int, `select` text)

create table @t (`Id` int, `NAME` varchar(10), primary key (`ID`, `name`))

create table @t (id int primary key, `key` int, `index` int, `primary` int, `check` int, `constraint` int, `unique` int)

create table @t (id int primary key, date date, time datetime, timestamp timestamp null, text text, enum enum('a'), bit bit, year year)

create table @t (id int primary key, comment int, period int, status int, type int, value int, action int, names int)

create table @t (type int not null, c int not null, primary key type (type), unique key type (type), key k type hash (c));
alter table @t drop key type, add unique type type btree (c), drop primary key

create table @t (type int not null, c int, foreign key type (type) references p (id), index type2 (type) type btree);
create index type3 type btree on @t (c);
alter table @t add c2 int first

create table @t (id int primary key, begin int, end int, no int, open int, temporary int, view int, sequence int, serial int)

create table @t (id int primary key, c int, charset int, storage int, engine int, visible int, first int, after int, data text)

create table @t (id int not null, primary key (id)) partition by hash (id) partitions 4

create table @t (id int primary key) partition by key () partitions 2

create table @t (id int primary key, c int) partition by range (id) (partition p0 values less than (10), partition p1 values less than maxvalue)

create table @t (id int, d date, primary key (id, d)) partition by range (year(d)) subpartition by hash (id) subpartitions 2 (partition a values less than (2000), partition b values less than maxvalue)

create table @t (id int primary key) engine=innodb partition by list (id) (partition a values in (0,1,2) comment = 'x', partition b values in (3))

create table @t (id int primary key) partition by linear key (id) partitions 3

create table @t (id int primary key, v varchar(5), d int default 3, primary_key int) partition by range columns (id) (partition p values less than (maxvalue))

create table `d`.@t (id int primary key, c varchar(9))

create table d . @t (id int primary key)

CREATE TABLE @t (ID INT PRIMARY KEY, C VARCHAR(10) CHARACTER SET LATIN1 COLLATE LATIN1_BIN) CHARSET=UTF8MB4

create table @t(id int primary key,c decimal(10,2)unsigned,d enum('a','b')not null,e varchar(3)charset latin1)

create table e2.@t (id int primary key, c varchar(9), d text(300), e tinytext)

create table e3.@t (id int primary key, c varchar(9), d text(300), e enum('é '))

create table e4.@t (id int primary key, c varchar(9), d text(300), e enum('e '), f char)

create table e5.@t (id int primary key, c varchar(9))

-- mode: ANSI_QUOTES
create table "@t" ("id" int primary key, "a""b" varchar(5) default 'x', c enum('q"r'))

-- mode: ANSI
create table @t (id int primary key, "order" int, c real, d char(3))

-- mode: REAL_AS_FLOAT
create table @t (id int primary key, c real, d real unsigned, e double)

-- mode: NO_BACKSLASH_ESCAPES
create table @t (id int primary key, c enum('a\','b''c\d'), e varchar(9) default '\')

-- mode: STRICT_ALL_TABLES
create table @t (id int primary key, c varchar(100) default '\'x\\', d enum('\'', 'n\n', '\%'))

-- mode: NO_ENGINE_SUBSTITUTION
create table @t (id int primary key, c varchar(70000) charset latin1)

-- mode: NO_ENGINE_SUBSTITUTION
create table @t (id int primary key, c varchar(20000) charset utf8mb4, d varbinary(70000))

-- mode: NO_ENGINE_SUBSTITUTION
create table @t (id int primary key, c varchar(65536) charset binary)

-- mode: NO_ENGINE_SUBSTITUTION
create table @t (id int primary key, c varchar(17000000) charset latin1)

create table @t (id int primary key);
alter table @t add c int

create table @t (id int primary key);
alter table @t add column c varchar(10) null

create table @t (id int primary key);
alter table @t add column c varchar(10) default null comment 'x, y' after id

create table @t (id int primary key, z int);
alter table @t add c int first, add d int after c, add e int after d

create table @t (id int primary key, z int);
alter table @t add (c int, d varchar(5), key (c))

create table @t (id int primary key, z int, y int);
alter table @t drop z

create table @t (id int primary key, z int, y int);
alter table @t drop column Z, drop column y

create table @t (id int primary key, z int, y int);
alter table @t add column z2 int after z, drop column y

create table @t (id int primary key, z int, y int);
alter table @t add column z varchar(5) first, drop column z

create table @t (id int primary key, z int, y int);
alter table @t drop column z, add column z varchar(5) after ID

create table @t (id int primary key, z int) charset latin1;
alter table @t add c varchar(5), add d text charset utf8mb4

create table @t (id int primary key, z int) charset latin1;
alter table @t default charset utf8mb3;
alter table @t add c varchar(5)

create table @t (id int primary key, z int) charset latin1;
alter table @t add c varchar(5), default charset utf8mb3

create table @t (id int primary key, z int) charset latin1;
alter table @t default charset utf8mb3, add c varchar(5)

create table @t (id int primary key, z int) charset latin1;
alter table @t charset=utf8mb4 collate=utf8mb4_bin comment='c' engine=innodb;
alter table @t add c enum('a')

create table @t (id int primary key, z int) charset latin1;
alter table @t collate binary;
alter table @t add c varchar(5), add d text

create table @t (id int primary key, z int);
alter table @t add index (z), add unique u (z), add constraint ck_@t check (z > 0), algorithm=copy, lock=shared

create table @t (id int primary key, z int);
alter table @t add key k (z);
alter table @t rename key k to k2;
alter table @t drop index k2

create table @t (id int primary key, z int);
create index i on @t (z);
create unique index u on @t (z);
drop index i on @t

create table @t (id int primary key, z int);
alter table @t alter z set default 5;
alter table @t alter column z drop default, add c int

create table @t (id int primary key, z int);
alter table @t engine=myisam, auto_increment=10, comment 'x', row_format=default

create table @t (id int primary key, z int);
alter table @t force;
alter table @t order by z;
alter table @t disable keys;
alter table @t enable keys

create table @t (id int primary key, z int);
alter table @t add foreign key (z) references p (id), add constraint f_@t foreign key (z) references p (id) on delete no action

create table @t (id int primary key, z int, constraint f_@t foreign key (z) references p (id));
alter table @t drop foreign key f_@t, drop z

create table @t (id int primary key, z int) partition by hash (id) partitions 4;
alter table @t add partition partitions 1;
alter table @t coalesce partition 2

create table @t (id int primary key, z int) partition by hash (id) partitions 4;
alter table @t remove partitioning;
alter table @t add c int;
alter table @t partition by key (id) partitions 2

create table @t (id int primary key, z int);
alter table @t add c int unique, add d char(5) collate latin1_bin unique key null

create table @t (id int primary key, z int);
alter table @t add c timestamp null, add d datetime(3) null default null, add e bit(3)

create table @t (id int primary key, z int);
analyze table @t;
optimize table @t;
create view v_@t as select * from @t;
drop view v_@t

create table @t (id int primary key, z int);
drop table @t;
create table @t (id bigint primary key, y text)

create table @t (id int primary key, z int);
drop table if exists nosuch, @t;
create table @t (k char(3) primary key)

create table @t (id int primary key, z int);
create table if not exists @t (k char(3) primary key)

create table @t (id int primary key, z int);
alter table @t add c int, algorithm=copy

create table @t (id int primary key, z int, key (z));
alter table @t drop column z, add z2 int, drop index z
