-- only: mysql
CREATE TABLE t (id INT PRIMARY KEY, j JSON);
CREATE TABLE packed (id INT PRIMARY KEY, j JSON);
CREATE TABLE triggered (id INT PRIMARY KEY, j JSON, k JSON);
CREATE TRIGGER sets_j BEFORE UPDATE ON triggered FOR EACH ROW SET NEW.j = JSON_SET(NEW.j, '$.a', 'by the trigger');
INSERT INTO t VALUES (1, '{"a": "a rather long text, so that a part is shorter", "b": 2}');
INSERT INTO packed SELECT * FROM t;
INSERT INTO triggered SELECT id, j, j FROM t;
SET SESSION binlog_row_value_options = PARTIAL_JSON;
UPDATE triggered SET j = JSON_SET(j, '$.b', 3);
SET SESSION binlog_row_image = MINIMAL;
UPDATE t SET j = JSON_SET(j, '$.b', 3);
SET SESSION binlog_transaction_compression = ON;
UPDATE packed SET j = JSON_SET(j, '$.b', 3);
