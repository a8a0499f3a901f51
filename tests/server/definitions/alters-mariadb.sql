create table @t (id int primary key, a int) with system versioning;
alter table @t drop system versioning;
alter table @t add b int, add system versioning

create table @t (id int, s date default '2020-01-01', e date default '2021-01-01', period for p (s, e), primary key (id, p without overlaps))

create table @t (id int primary key, a int, s timestamp(6) as row start, e timestamp(6) as row end, period for system_time (s, e)) with system versioning

create table @t (id int primary key, a int);
alter table @t add column if not exists a bigint, modify column if exists q int, drop column if exists r, add c int;
create or replace table @t (id int primary key, z int)

create table @t (id int primary key /*M!100600 , a int */ /*!50701 , b int */ /*!100100 , c int */)

-- set: binlog_alter_two_phase
create table @t (id int primary key, a int);
alter table @t modify a bigint, add b int

create table @t (id int primary key, a int);
drop sequence if exists @t;
alter table @t add b int

create table @t (id int primary key, a int, b int not null);
alter table @t drop primary key, add primary key if not exists (b)

create table @t (id int primary key, a int, b int, unique u (a));
alter table @t drop index u, add unique if not exists u (b)

create table @t (id int not null, a int not null, b int);
alter table @t add unique if not exists (a, b), add unique if not exists (a)

-- set: binlog_alter_two_phase
create table @t (id int primary key, a varchar(9)) charset latin1;
alter table @t add b int, convert to character set utf8mb4
