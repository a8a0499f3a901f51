CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10));
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
UPDATE t SET id = 10 WHERE id = 1;
UPDATE t SET id = 1, v = 'again' WHERE id = 2;
UPDATE t SET id = id + 100 ORDER BY id DESC;
