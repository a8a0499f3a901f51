create table @t (id int primary key, a int, b int);
alter table @t rename column a to b, rename column b to a

create table @t (id int primary key, a int, b int, key k (a));
alter table @t rename column a to c, add a int after c, rename index k to l;
alter table @t drop index l, drop column c

create table @t (a int not null, b varchar(9) default (uuid()), unique ((a + 1)), unique (a))

-- set: sql_generate_invisible_primary_key
create table @t (v int, w bigint unsigned not null);
alter table @t modify w bigint unsigned not null first, add x int first;
alter table @t alter my_row_id set visible, add y int first

-- set: sql_generate_invisible_primary_key
create table @t (v int, w int);
alter table @t modify w int first, engine = MyISAM;
alter table @t modify v int first
