create or replace table @t (id int primary key, c varchar(9))

create table @t (id int primary key, c int /*M!100100 , d varchar(5) */ /*!50701 , e int */ /*M!999999 , f int */)

create table @t (id int primary key, c int, d int default (c + 1), key k (c) ignored)

create table @t (id int primary key, c varchar(10)) engine=aria transactional=1 page_checksum=1

create table @t (id int primary key) page_compressed=1 page_compression_level=3

create table @t (id int primary key, c int) encryption_key_id=1

create table @t (id int primary key, c varchar(9)) charset utf8mb4 collate uca1400_ai_ci

create table @t (id int primary key, c varchar(9)) collate utf8mb4_uca1400_german2_nopad_as_cs

create table @t (id int primary key, z int) charset latin1;
alter table @t character set default;
alter table @t add c varchar(5)

create table @t (id int primary key, z int);
alter table @t add column if not exists z int, add column if not exists c int

create table @t (id int primary key, z int);
alter table if exists @t drop column if exists q, drop column if exists z

create table @t (id int primary key, z int);
alter table @t wait 5 add c int;
alter table @t nowait add index if not exists i (z), drop index if exists q

create table @t (id int primary key, z int, constraint ck_@t check (z > 1));
alter table @t drop constraint if exists ck_@t, drop constraint if exists nope, add constraint if not exists c3 check (z > 0)

create table @t (id int primary key, z int);
alter table @t add c int invisible, add d varchar(5) charset latin1 collate latin1_bin null

create table @t (id int primary key, z int);
set statement max_statement_time=10 for alter table @t add c int

create table @t (id int primary key, z int);
create or replace index i on @t (z);
drop index if exists i on @t

create table @t (id int primary key, z int);
drop table @t wait 1;
create table @t (id bigint primary key)

create table @t (id int primary key, z int);
alter table @t drop z restrict, add c int

create table @t (id int primary key, c text collate latin1_nopad_bin)

create table @t as select 1 as id, 'x' as c, now() as d, 1.5 as e

create table @t (id int primary key) as select 1 as id, cast('x' as char(5)) as c

-- mode: ORACLE
create table @t (id number(10) primary key, c varchar2(10), d date, e number, f clob, g raw(5), h blob, i number(5,2), k varchar(7))

-- mode: MAXDB
create table @t (id int primary key, c timestamp, d timestamp(3))

-- mode: ORACLE
create table @t ("id" int primary key, c varchar(5) default 'x')

create table @t (@t.id int primary key, z int, y int, x varchar(5), w int);
alter table @t modify column @t.x varchar(500), drop @t.y, change @t.w ww int after id;
alter table @t alter column d.@t.z set default 7, add d.@t.v int;
alter table @t drop column d.@t.z

create table @t (id int primary key, k int, constraint fk_@t foreign key (k) references p (id) on delete cascade);
alter table @t drop foreign key @t.fk_@t

-- mode: NO_ENGINE_SUBSTITUTION
create table @t (id int primary key, c varchar(65533) charset latin1, d varbinary(65535), e varchar(21845) charset utf8mb3)

-- mode: NO_ENGINE_SUBSTITUTION
create table @t (c varchar(65532) charset latin1)

-- mode: NO_ENGINE_SUBSTITUTION
create table @t (c varchar(32767) charset latin1);
alter table @t convert to charset ucs2
