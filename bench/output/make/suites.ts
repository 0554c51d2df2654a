import { type Recipe, TOOLS } from './recipe.ts';

/** Beginnings and ends of the names of tests. Each combination gives a different sentence. */
const SUBJECTS = [
  'cart',
  'invoice',
  'refund',
  'coupon',
  'parcel',
  'warehouse',
  'ledger',
  'tariff',
  'wishlist',
  'voucher',
  'shipment',
  'supplier',
  'catalogue',
  'basket',
  'receipt',
  'customs form',
  'price list',
  'stock level',
];
const DEEDS = [
  'keeps its total when a row is removed',
  'rejects a negative quantity',
  'rounds half cents up',
  'is empty at first',
  'survives a restart',
  'sorts rows by name',
  'is found by its number',
  'counts each row once',
  'ignores an unknown currency',
  'lists the newest first',
  'can be copied',
  'says when an error is expected',
  'does not fail on an empty name',
  'warns about a missing address',
  'accepts a date in the past',
  'adds tax per country',
  'is closed only once',
  'prints two decimals',
];

const title = (n: number) =>
  `${SUBJECTS[n % SUBJECTS.length]} ${DEEDS[Math.floor(n / SUBJECTS.length) % DEEDS.length]}`;
/** Returns the title of test n. There are 324 different titles, so later ones end with their number. */
const unique = (n: number) => (n < 324 ? title(n) : `${title(n)} ${n}`);
const snake = (n: number) => unique(n).replaceAll(' ', '_');
const pascal = (n: number) => unique(n).replace(/(^| )(\w)/g, (_, _gap, first) => first.toUpperCase());

const PRICING_JS = `
exports.total = (rows) => rows.reduce((sum, { price, count }) => sum + price * count, 0);
exports.discount = (total) => (total > 500 ? total * 0.1 : 0);
exports.address = (order) => order.customer.address.street.toUpperCase();
exports.quote = (weight) => ({ carrier: 'NordPost', zone: 4, cents: 1290 + weight * 37 });
`;

function nodeTests(from: number, to: number, extra = ''): string {
  const tests = Array.from({ length: to - from }, (_, i) => {
    const n = from + i;
    const noise = n % 9 === 0 ? `console.log('  [seed] ${title(n)}: error table loaded, 0 errors');` : '';
    return `  it(${JSON.stringify(`${title(n)} (${n})`)}, () => { ${noise} assert.equal(total([{ price: ${n}, count: 2 }]), ${2 * n}); });`;
  });
  return `const { describe, it } = require('node:test');
const assert = require('node:assert/strict');
const { total, discount, address, quote } = require('../pricing.js');
describe('orders ${from}', () => {
${tests.join('\n')}
${extra}
});
`;
}

const NODE_FAILURES = `
  it('gives ten percent above five hundred', () => { assert.equal(discount(731), 73.15); });
  it('quotes a parcel to zone four', () => { assert.deepEqual(quote(12), { carrier: 'NordPost', zone: 4, cents: 1744 }); });
  it.skip('prints labels for drones', () => {});
  it.todo('splits a parcel in two');`;
const NODE_CRASH = `
  it('uppercases the street of a guest order', () => { assert.equal(address({ customer: {} }), 'ELM STREET'); });`;

const nodeSuite = {
  'pricing.js': PRICING_JS,
  'test/a-cart.test.js': nodeTests(0, 290),
  'test/b-prices.test.js': nodeTests(290, 480, NODE_FAILURES),
  'test/c-orders.test.js': nodeTests(480, 770, NODE_CRASH),
  'test/d-stock.test.js': nodeTests(770, 1024),
};

const VITEST = (from: number, to: number, extra = '') => `import { describe, expect, it, vi } from 'vitest';
import { total, discount, route } from '../src/orders.js';
describe('orders ${from}', () => {
${Array.from({ length: to - from }, (_, i) => {
  const n = from + i;
  const noise =
    n % 6 === 0 ? `console.log('loading fixture ${n}: ${title(n)}', { rows: ${n}, errors: [] });` : '';
  return `  it(${JSON.stringify(unique(n))}, () => { ${noise} expect(total([{ price: ${n}, count: 3 }])).toBe(${3 * n}); });`;
}).join('\n')}
${extra}
});
`;
const ORDERS_JS = `export const total = (rows) => rows.reduce((sum, { price, count }) => sum + price * count, 0);
export const discount = (total) => (total > 500 ? Math.floor(total / 10) : 0);
export async function route(parcel) {
  if (parcel.kilos > 31.5) throw new RangeError(\`parcel \${parcel.id} is too heavy: \${parcel.kilos} kg, at most 31.5\`);
  return { depot: 'Malmo-3', days: 2, stops: ['Lund', 'Ystad'] };
}
`;
const VITEST_FAILURES = `
  it('routes a parcel over Lund', async () => {
    expect(await route({ id: 'P-7', kilos: 3 })).toEqual({ depot: 'Malmo-3', days: 3, stops: ['Lund', 'Ystad'] });
  });
  it('gives no discount at exactly five hundred', () => { expect(discount(500)).toBe(50); });
  it('carries a piano', async () => { await route({ id: 'P-9041', kilos: 212 }); });`;

const JEST = (from: number, to: number, extra = '') => `const { total, label, reserve } = require('../stock');
describe('stock ${from}', () => {
${Array.from({ length: to - from }, (_, i) => {
  const n = from + i;
  return `  test(${JSON.stringify(unique(n))}, () => { ${n % 14 === 0 ? `console.warn('stock ${n} is an error-prone fixture');` : ''} expect(total([${n}, ${n}])).toBe(${2 * n}); });`;
}).join('\n')}
${extra}
});
`;
const STOCK_JS = `exports.total = (counts) => counts.reduce((a, b) => a + b, 0);
exports.label = ({ sku, bin }) => \`\${sku} @ \${bin}\`;
exports.reserve = (shelf, count) => {
  if (count > shelf.free) throw new Error(\`only \${shelf.free} of \${count} on shelf \${shelf.id}\`);
  shelf.free -= count;
  return shelf;
};
`;

const PY_SHOP = `
import logging
log = logging.getLogger("shop")

def tax(country, cents):
    rates = {"SE": 25, "DE": 19, "JP": 10}
    log.info("tax for %s, error margin 0", country)
    return cents * rates[country] // 100

def merge(left, right):
    merged = dict(left)
    for sku, count in right.items():
        merged[sku] = merged.get(sku, 0) + count
    return merged

def parse_weight(text):
    number, unit = text.split(" ")
    return float(number) * {"kg": 1000, "g": 1}[unit]
`;
function pytestFile(from: number, to: number, extra = ''): string {
  return `import pytest
from shop import merge, parse_weight, tax

${Array.from({ length: to - from }, (_, i) => `def test_${snake(from + i)}():\n    assert tax("SE", ${400 * (from + i)}) == ${100 * (from + i)}\n`).join('\n')}
${extra}
`;
}
const PYTEST_FAILURES = `
@pytest.mark.parametrize("country,cents,expected", [("DE", 1000, 190), ("JP", 990, 98), ("SE", 80, 20)])
def test_tax_per_country(country, cents, expected):
    assert tax(country, cents) == expected

def test_merge_counts_both_sides():
    left = {"chair": 2, "table": 1, "lamp": 7}
    right = {"chair": 1, "sofa": 4}
    assert merge(left, right) == {"chair": 3, "table": 1, "lamp": 7, "sofa": 5}

def test_weight_in_ounces():
    print("scale calibrated, serial TX-88213")
    assert parse_weight("12 oz") == 340

@pytest.fixture
def depot():
    raise ConnectionError("depot db-legacy-04 refused the connection on port 5499")

def test_depot_is_reachable(depot):
    assert depot.ping()

@pytest.mark.skip(reason="needs the drone simulator 2.1")
def test_drone_delivery():
    pass
`;

const GO_FILES = {
  'go.mod': 'module example.test/shop\n\ngo 1.21\n',
  'freight/freight.go': `package freight

// Cents returns the price of a parcel.
func Cents(grams, zone int) int { return 490 + grams/10*zone }

// Zones maps a country to its zone.
var Zones = map[string]int{"SE": 1, "DE": 2, "BR": 5}

type Truck struct{ Load []int }

func (t *Truck) At(i int) int { return t.Load[i] }
`,
  'freight/freight_test.go': `package freight

import "testing"

${Array.from({ length: 640 }, (_, n) => `func Test${pascal(n)}(t *testing.T) {\n\tif got := Cents(${10 * n}, 2); got != ${490 + 2 * n} {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n`).join('\n')}
func TestZoneTable(t *testing.T) {
	for _, c := range []struct {
		country string
		want    int
	}{{"SE", 1}, {"DE", 2}, {"BR", 6}, {"NZ", 7}} {
		t.Run(c.country, func(t *testing.T) {
			if got := Zones[c.country]; got != c.want {
				t.Errorf("zone of %s = %d, want %d", c.country, got, c.want)
			}
		})
	}
}
`,
  'invoice/invoice.go': 'package invoice\n\nfunc Number(year, n int) int { return year*100000 + n }\n',
  'invoice/invoice_test.go': `package invoice

import "testing"

${Array.from({ length: 60 }, (_, n) => `func Test${pascal(n)}(t *testing.T) {\n\tt.Log("ledger row ${n}: no error")\n\tif Number(2026, ${n}) != ${202600000 + n} {\n\t\tt.Fatal("wrong")\n\t}\n}\n`).join('\n')}`,
  'truck/truck.go':
    'package truck\n\ntype Truck struct{ Load []int }\n\nfunc (t *Truck) At(i int) int { return t.Load[i] }\n',
  'truck/truck_test.go': `package truck

import "testing"

func TestEmptyTruck(t *testing.T) {
	truck := &Truck{}
	if truck.At(17) != 0 {
		t.Fatal("not empty")
	}
}
`,
};

const CARGO_FILES = {
  'Cargo.toml': '[package]\nname = "parcels"\nversion = "0.4.2"\nedition = "2021"\n',
  'src/lib.rs': `pub fn fee(grams: u32, express: bool) -> u32 {
    let base = 450 + grams / 8;
    if express { base * 2 } else { base }
}

pub fn zone(country: &str) -> Option<u8> {
    match country { "SE" => Some(1), "DE" => Some(2), _ => None }
}

#[cfg(test)]
mod tests {
    use super::*;
${Array.from({ length: 1300 }, (_, n) => `    #[test]\n    fn ${snake(n)}() { assert_eq!(fee(${8 * n}, false), ${450 + n}); }`).join('\n')}
    #[test]
    fn express_costs_double() { assert_eq!(fee(800, true), 1101, "express fee of 800 g"); }
    #[test]
    fn zone_of_iceland() { assert_eq!(zone("IS").unwrap(), 3); }
    #[test]
    #[ignore = "needs a scale"]
    fn weighs_a_pallet() {}
}
`,
};

const PLAYWRIGHT_FILES = {
  'playwright.config.js': `module.exports = { timeout: 4000, expect: { timeout: 700 }, workers: 1, retries: 0, reporter: 'list', outputDir: 'out',
  use: { browserName: 'chromium', launchOptions: { executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] } } };`,
  'shop.spec.js': `const { test, expect } = require('@playwright/test');
const page_ = '<title>Shop</title><h1>Garden chairs</h1><ul>' + Array.from({ length: 30 }, (_, n) => '<li data-sku="G-' + n + '">Chair ' + n + ' <b>' + (1990 + n) + ' kr</b></li>').join('') + '</ul><button>Add</button><output>0 items</output>';
test.beforeEach(async ({ page }) => { await page.setContent(page_); });
${Array.from({ length: 45 }, (_, n) => `test(${JSON.stringify(`chair ${n}: ${title(n)}`)}, async ({ page }) => { await expect(page.locator('li').nth(${n % 30})).toContainText('${1990 + (n % 30)} kr'); });`).join('\n')}
test('the button adds one chair', async ({ page }) => {
  await page.getByRole('button', { name: 'Add' }).click();
  await expect(page.locator('output')).toHaveText('1 item');
});
test('a sold-out chair is marked', async ({ page }) => {
  await expect(page.locator('[data-sku="G-31"]')).toBeVisible();
});
test('the title names the season', async ({ page }) => {
  await expect(page).toHaveTitle(/Spring 2026/);
});
`,
};

const TIMES: Recipe['replace'] = [[/timestamp="[^"]*"/g, 'timestamp="2026-03-14T10:15:00.000000+00:00"']];

const CLOCK: Recipe['replace'] = [[/(?<=Start at .*)\d\d:\d\d:\d\d/, '10:15:00']];

export const SUITES: readonly Recipe[] = [
  {
    name: 'node-spec-failing',
    kind: 'tests',
    displayCommand: 'node --test',
    command: 'node --test --test-concurrency=1 --test-reporter=spec "test/*.test.js"',
    files: nodeSuite,
  },
  {
    name: 'node-tap-failing',
    kind: 'tests',
    displayCommand: 'node --test --test-reporter=tap',
    command: 'node --test --test-concurrency=1 --test-reporter=tap "test/*.test.js"',
    files: nodeSuite,
  },
  {
    name: 'node-junit-failing',
    kind: 'tests',
    displayCommand: 'node --test --test-reporter=junit',
    command: 'node --test --test-concurrency=1 --test-reporter=junit "test/*.test.js"',
    files: nodeSuite,
    replace: TIMES,
  },
  {
    name: 'node-spec-own-passing',
    kind: 'tests',
    displayCommand: 'node --test "src/text/**/*.test.ts" "src/base/*.test.ts"',
    command:
      'node --test --test-concurrency=2 --test-reporter=spec "src/text/{frame,secrets,line-diff}.test.ts" "src/text/parts/*.test.ts" "src/text/sanitize/*.test.ts" "src/base/*.test.ts" "src/kernel/**/*.test.ts" "src/domain/**/*.test.ts"',
  },
  {
    name: 'node-coverage-own',
    kind: 'tests',
    displayCommand: 'node --test --experimental-test-coverage "src/base/*.test.ts"',
    command:
      'node --test --test-reporter=spec --experimental-test-coverage "src/base/*.test.ts" "src/text/parts/*.test.ts"',
  },
  {
    name: 'vitest-failing',
    kind: 'tests',
    replace: CLOCK,
    displayCommand: 'npx vitest run --reporter=verbose',
    env: { FORCE_COLOR: '1' },
    before: `ln -s ${TOOLS}/js/node_modules node_modules`,
    files: {
      'package.json': '{"type":"module"}',
      'src/orders.js': ORDERS_JS,
      'test/a.test.js': VITEST(0, 120),
      'test/b.test.js': VITEST(120, 200, VITEST_FAILURES),
      'test/c.test.js': VITEST(200, 300),
    },
  },
  {
    name: 'vitest-passing',
    kind: 'tests',
    replace: CLOCK,
    displayCommand: 'npx vitest run --reporter=verbose',
    command: 'vitest run --reporter=verbose',
    before: `ln -s ${TOOLS}/js/node_modules node_modules`,
    files: {
      'package.json': '{"type":"module"}',
      'src/orders.js': ORDERS_JS,
      'test/a.test.js': VITEST(0, 60),
    },
  },
  {
    name: 'jest-failing',
    kind: 'tests',
    displayCommand: 'npx jest --verbose',
    command: 'jest --verbose -i',
    before: `ln -s ${TOOLS}/js/node_modules node_modules`,
    files: {
      'package.json': '{"name":"shop"}',
      'stock.js': STOCK_JS,
      'test/a.test.js': JEST(0, 400),
      'test/b.test.js': JEST(
        400,
        700,
        `
  test('prints the bin on the label', () => { expect(label({ sku: 'LAMP-3', bin: 'C14' })).toBe('LAMP-3 in C14'); });
  test('reserves the last two', () => { expect(reserve({ id: 'N-22', free: 1 }, 2).free).toBe(0); });`,
      ),
      'test/c.test.js': 'const { missing } = require("../ledger");\ntest("never runs", () => {});\n',
    },
  },
  {
    name: 'pytest-failing',
    kind: 'tests',
    displayCommand: 'pytest -v',
    command: 'pytest -v -p no:cacheprovider',
    files: {
      'shop.py': PY_SHOP,
      'test_cart.py': pytestFile(0, 400),
      'test_rules.py': pytestFile(400, 530, PYTEST_FAILURES),
      'test_tail.py': pytestFile(530, 820),
    },
  },
  {
    name: 'pytest-locals-failing',
    kind: 'tests',
    displayCommand: 'pytest -vv --showlocals',
    command: 'pytest -vv -p no:cacheprovider --showlocals',
    files: { 'shop.py': PY_SHOP, 'test_rules.py': pytestFile(0, 30, PYTEST_FAILURES) },
  },
  {
    name: 'pytest-junit',
    kind: 'tests',
    displayCommand: 'pytest --junitxml=report.xml; cat report.xml',
    command: 'pytest -q -p no:cacheprovider --junitxml=report.xml >/dev/null; sed "s/></>\\n</g" report.xml',
    files: {
      'shop.py': PY_SHOP,
      'test_cart.py': pytestFile(0, 900),
      'test_rules.py': pytestFile(900, 1130, PYTEST_FAILURES),
    },
    replace: TIMES,
  },
  { name: 'go-test-failing', kind: 'tests', displayCommand: 'go test -v ./...', files: GO_FILES },
  { name: 'go-test-passing', kind: 'tests', displayCommand: 'go test -v ./invoice', files: GO_FILES },
  { name: 'cargo-test-failing', kind: 'tests', displayCommand: 'cargo test', files: CARGO_FILES },
  {
    name: 'playwright-failing',
    kind: 'tests',
    displayCommand: 'npx playwright test',
    command: 'playwright test',
    env: { FORCE_COLOR: '0' },
    before: `ln -s ${TOOLS}/js/node_modules node_modules`,
    files: PLAYWRIGHT_FILES,
  },
];
