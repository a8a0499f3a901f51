create table @t (id int primary key invisible, c int)

create table @t (id int primary key, c varchar(10), key f ((upper(c))), unique key g ((id + 1)))

create table @t (a int not null, b int not null, unique key ((a + 1)), unique key (b))

create table @t (a int not null, b int generated always as (a + 1) virtual not null, unique key (b), unique key (a))

create table @t (id int primary key, c int, key k (c) invisible, constraint ck_@t check (c > 0) not enforced) engine=innodb encryption='n'

create table @t (id int primary key) tablespace innodb_file_per_table secondary_engine_attribute='{}' autoextend_size=4m

create table @t (id int primary key, c int) charset utf8mb4 collate utf8mb4_0900_bin

create table @t (id int primary key /*!80023 , c int invisible */)

create table @t (id int primary key, z int);
alter table @t add c int invisible, add d int visible

create table @t (id int primary key, z int, key k (z));
alter table @t alter index k invisible;
alter table @t alter column z set invisible, algorithm=inplace

create table @t (id int primary key, z int, constraint ck_@t check (z > 1));
alter table @t alter check ck_@t not enforced;
alter table @t drop check ck_@t, add c int, algorithm=instant

create table @t (id int primary key, z int, constraint ck_@t check (z > 1), constraint u unique (z));
alter table @t drop constraint ck_@t, drop constraint u, add c int first

create table @t (id int primary key, z int);
alter table @t add c int, with validation;
alter table @t add d int, without validation

create table @t (id int primary key, c varchar(9), d text) charset gbk

create table @t (id int primary key) partition by key algorithm=2 (id) partitions 3

create table @t (id int primary key, vector int)

-- set: sql_generate_invisible_primary_key
create table @t (a int)
