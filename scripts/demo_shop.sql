-- The tables of the demo shop.

CREATE TABLE customers (
  customer_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(80) NOT NULL,
  billing_name VARCHAR(80) CHARACTER SET latin1 NULL COMMENT 'what the old invoice printer can print',
  email VARCHAR(120) NOT NULL,
  country CHAR(2) NOT NULL,
  birth_year YEAR NULL,
  language ENUM('english','français','deutsch','日本語') NOT NULL DEFAULT 'english',
  interests SET('books','music','garden','café') NOT NULL DEFAULT '',
  consents BIT(10) NOT NULL DEFAULT b'0',
  credit DECIMAL(12,2) NOT NULL DEFAULT 0.00,
  registered_at DATETIME(6) NOT NULL,
  last_seen TIMESTAMP(3) NULL DEFAULT NULL,
  UNIQUE KEY by_email (email),
  KEY by_country (country, name(20))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE products (
  product_id MEDIUMINT UNSIGNED NOT NULL PRIMARY KEY,
  sku CHAR(12) NOT NULL UNIQUE,
  title VARCHAR(120) NOT NULL,
  description TEXT NULL,
  price DECIMAL(10,2) NOT NULL,
  weight_kg FLOAT NULL,
  rating DOUBLE NULL,
  in_stock INT NOT NULL DEFAULT 0,
  shelf TINYINT NULL,
  barcode BINARY(8) NOT NULL,
  thumbnail BLOB NULL,
  released DATE NULL,
  is_active TINYINT(1) NOT NULL DEFAULT 1
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE orders (
  order_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('new','paid','shipped','returned') NOT NULL DEFAULT 'new',
  total DECIMAL(14,4) NOT NULL,
  placed_at DATETIME(6) NOT NULL,
  updated_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  note TEXT NULL,
  KEY by_customer (customer_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE order_lines (
  order_id BIGINT UNSIGNED NOT NULL,
  line_no TINYINT UNSIGNED NOT NULL,
  product_id MEDIUMINT UNSIGNED NOT NULL,
  quantity SMALLINT NOT NULL,
  unit_price DECIMAL(10,2) NOT NULL,
  discount FLOAT NOT NULL DEFAULT 0,
  PRIMARY KEY (order_id, line_no),
  CONSTRAINT line_of_order FOREIGN KEY (order_id) REFERENCES orders (order_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE stock_moves (
  move_id BIGINT NOT NULL PRIMARY KEY,
  product_id MEDIUMINT UNSIGNED NOT NULL,
  quantity INT NOT NULL,
  reason ENUM('sale','return','delivery','count') NOT NULL,
  moved_at DATETIME NOT NULL,
  scanner VARBINARY(12) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE payments (
  payment_id BINARY(16) NOT NULL PRIMARY KEY,
  order_id BIGINT UNSIGNED NOT NULL,
  amount DECIMAL(14,4) NOT NULL,
  fee DECIMAL(30,10) NOT NULL,
  exchange_rate DOUBLE NOT NULL,
  paid_on DATE NOT NULL,
  card_hash VARBINARY(32) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Without a key: each door has its row, and doors with the same hours have equal ones.
CREATE TABLE opening_hours (
  weekday TINYINT UNSIGNED NOT NULL,
  opens TIME NOT NULL,
  closes TIME NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- Its rows get numbers later. Which row has which number is not in the log: the demo shows the table refused by name.
CREATE TABLE visits (
  visitor VARCHAR(40) NOT NULL,
  came_at DATETIME NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
