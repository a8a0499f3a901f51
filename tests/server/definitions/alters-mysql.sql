create table @t (id int primary key, a int, b int);
alter table @t rename column a to b, rename column b to a

create table @t (id int primary key, a int, b int, key k (a));
alter table @t rename column a to c, add a int after c, rename index k to l;
alter table @t drop index l, drop column c

create table @t (a int not null, b varchar(9) default (uuid()), unique ((a + 1)), unique (a))
