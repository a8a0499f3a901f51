CREATE TABLE t (id INT PRIMARY KEY, a ENUM('small', 'Größe', 'it''s', '') CHARACTER SET utf8mb4, b SET('x', 'y', 'zé') CHARACTER SET utf8mb4,
  c ENUM('n', 'é') CHARACTER SET latin1);
INSERT INTO t VALUES (1, 'small', '', 'n'), (2, 'Größe', 'x,zé', 'é'), (3, 'it''s', 'x,y,zé', NULL), (4, '', 'zé', 'n');
INSERT INTO t (id) VALUES (5);
UPDATE t SET a = 'small', b = 'y,x' WHERE id = 4;
