CREATE TABLE t (v INT, b VARCHAR(10), a INT, PRIMARY KEY (a, b));
INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 1), (3, 'x', 2);
UPDATE t SET v = 20 WHERE a = 1 AND b = 'y';
UPDATE t SET b = 'z' WHERE a = 2;
DELETE FROM t WHERE a = 1 AND b = 'x';
