-- only: mysql
CREATE TABLE t (id INT PRIMARY KEY, j JSON);
INSERT INTO t VALUES (1, '{"b": 1, "aa": [1, -1, 65535, 65536, 4294967296, 18446744073709551615, -9223372036854775808], "a": {"x": null, "y": true, "z": false}}');
INSERT INTO t VALUES (2, '[1.0, -0.0, 0.1, 1e14, 1e15, 1e-15, 1e-16, 5e-324, 1.7976931348623157e308, 123456789012345678901234567890]');
INSERT INTO t VALUES (3, '["", "é😀", "quote \\" slash \\\\ / \\b\\f\\n\\r\\t\\u0001"]'), (4, 'null'), (5, NULL), (6, '"text"'), (7, '{}'), (8, '[]'), (9, 'true'), (10, '-1.5');
INSERT INTO t VALUES (11, JSON_ARRAY(CAST(1.50 AS DECIMAL(10,2)), CAST(-99999999999999999999999999999999999.5 AS DECIMAL(65,30)), DATE'2020-02-29', TIME'-838:59:59', TIMESTAMP'9999-12-31 23:59:59.999999', b'101', CAST(REPEAT('x', 100) AS BINARY)));
INSERT INTO t VALUES (12, CAST(CONCAT(REPEAT('[', 100), REPEAT(']', 100)) AS JSON)), (13, JSON_OBJECT('k', REPEAT('y', 70000), 'n', JSON_ARRAY(70000, -70000)));
INSERT INTO t VALUES (14, '{"name": "a long enough name", "n": 1, "list": [1, 2, 3]}');
UPDATE t SET j = JSON_SET(j, '$.name', 'short', '$.n', 2.5) WHERE id = 14;
UPDATE t SET j = JSON_REMOVE(j, '$.list[1]') WHERE id = 14;
UPDATE t SET j = JSON_REPLACE(j, '$.b', 'é') WHERE id = 1;
