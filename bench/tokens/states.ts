import type { JsonObject } from '../../src/base/json.ts';
import type { PatchOp } from '../../src/formats/json-patch/apply.ts';
import type { Question } from './questions.ts';

export interface StateCase {
  readonly name: string;
  readonly what: string;
  /** Items in the order in which they were added. */
  readonly items: readonly PatchOp[];
  readonly questions: readonly Question[];
}

const add = (list: string, value: JsonObject): PatchOp => ({ op: 'add', path: `/${list}/-`, value });
const fact = (key: string, value: string) => add('facts', { key, value });
const hard = (description: string) => add('constraints', { description, severity: 'hard' });
const soft = (description: string) => add('constraints', { description, severity: 'soft' });
const decision = (description: string) => add('decisions', { description });
const open = (question: string) => add('open_questions', { question, status: 'open' });
const step = (text: string, status = 'pending') => add('plan', { step: text, status });

const ask = (question: string, ...facts: string[]): Question => ({ ask: question, facts });
/** Returns a fact for each pair of subject and property. Neighbouring facts differ only in a word or number. */
function table(
  subjects: readonly string[],
  properties: { readonly [name: string]: (at: number) => string },
): PatchOp[] {
  return subjects.flatMap((subject, at) =>
    Object.entries(properties).map(([name, format]) => fact(`${subject} ${name}`, format(at))),
  );
}

/** Combines every first word with every second word. */
const pairs = (first: readonly string[], second: readonly string[]) =>
  first.flatMap((one) => second.map((other) => `${one}${other}`));

const splitWords = (text: string) => text.split(' ');

const itemValue = (item: PatchOp) => (item as { value: JsonObject }).value;
const keyOf = (item: PatchOp) => itemValue(item).key;

/**
 * Inserts the later items evenly into the last 40 % of the items. A correction is always inserted after the fact that
 * it corrects.
 */
function spread(items: readonly PatchOp[], later: readonly PatchOp[]): PatchOp[] {
  const all = [...items];
  const from = Math.floor(items.length * 0.6);
  const gap = Math.max(1, Math.floor((items.length - from) / (later.length + 1)));
  for (const [i, item] of later.entries()) {
    const key = keyOf(item);
    const original = key === undefined ? -1 : all.findLastIndex((other) => keyOf(other) === key);
    all.splice(Math.max(from + i * (gap + 1), original + 1), 0, item);
  }
  return all;
}

const RELEASE: readonly PatchOp[] = [
  fact('product', 'Lantern, a reading app for phones'),
  fact('version', 'The next release is 4.2'),
  fact('release date', 'Tuesday 3 March'),
  fact('ios minimum', 'iOS 16'),
  fact('android minimum', 'Android 10'),
  fact('languages', 'English, German, Polish and Japanese'),
  fact('crash rate', '0.3 % of sessions in 4.1'),
  fact('app size', '48 MB on Android'),
  fact('store account', 'belongs to Lantern Books Ltd'),
  fact('beta group', '640 people through TestFlight'),
  fact('support address', 'help@lantern.example'),
  fact('analytics', 'none; a counter of page turns stays on the device'),
  fact('price', '2.99 a month after two free weeks'),
  fact('family plan', 'up to five people for 5.99'),
  fact('fonts', 'Literata and Atkinson Hyperlegible'),
  fact('offline books', 'at most 40 on one device'),
  fact('sync', 'last position wins, within a minute'),
  fact('push provider', 'Apple and Google directly, no vendor between'),
  fact('build machine', 'a Mac mini called ember'),
  fact('test phones', 'Pixel 6a, Galaxy A14, iPhone SE'),
  fact('review time', 'Apple took 31 hours last time'),
  fact('backend', 'three servers in Helsinki'),
  fact('login', 'by e-mail link, without passwords'),
  fact('screen reader', 'VoiceOver passes, TalkBack has two open faults'),
  fact('designer', 'Ines Aalto'),
  fact('translator', 'Kenji Mori for Japanese'),
  fact('press contact', 'Dora Lindqvist'),
  fact('marketing budget', '12 000 for the quarter'),
  hard('Never send the titles of books to a server in clear text.'),
  hard('No release on a Friday or before a holiday.'),
  hard('The app must open a book within two seconds on a Galaxy A14.'),
  soft('Prefer system dialogs to dialogs of our own.'),
  soft('Keep the settings on one screen.'),
  decision('Audio books wait for 5.0, because licences are not signed.'),
  decision('Highlights are stored as Markdown so that people can take them along.'),
  decision('The dark theme follows the phone and has no switch of its own.'),
  decision('Reviews are asked for only after a finished book.'),
  open('Does the Polish store text need a lawyer?'),
  open('Who answers support mail in the first week of March?'),
  open('Can page turning work with the volume keys?'),
  step('Translate the new onboarding', 'done'),
  step('Fix the two TalkBack faults', 'in_progress'),
  step('Record the store video'),
  step('Submit the build to both stores'),
  step('Write to the beta group'),
];

const SHOP_TABLES = pairs(
  splitWords('customer order invoice return supplier voucher basket shipment stock'),
  ['s', '_history', '_archive'],
);

const SHOP: readonly PatchOp[] = [
  ...table(SHOP_TABLES, {
    rows: (at) => `${(at * 37 + 11) % 90}.${at % 10} million`,
    owner: (at) => splitWords('Amara Boris Chloe Dmitri Elif Femi Greta')[at % 7]!,
    'primary key': (at) => splitWords('bigint uuid text composite')[at % 4]!,
    'copy time': (at) => `${((at * 13) % 50) + 4} minutes`,
  }),
  fact('source database', 'MySQL 5.7 on two old machines in the cellar'),
  fact('target database', 'PostgreSQL 17, managed, in Dublin'),
  fact('replication lag', '40 seconds at noon, 4 minutes at midnight'),
  fact('cut-over window', 'Sunday from two to five in the morning'),
  fact('rollback', 'the old primary stays writable for six days'),
  fact('collation', 'utf8mb4_german2_ci must become de-x-icu'),
  fact('largest blob', 'a scanned contract of 61 MB'),
  fact('connection pool', 'PgBouncer with 80 connections'),
  fact('money columns', 'stored as cents in integers'),
  fact('time zone', 'timestamps are local time of Vienna and become UTC'),
  fact('deleted rows', 'are marked by a flag, never removed'),
  fact('test restore', 'took 3 hours 20 minutes on the staging machine'),
  hard('Card numbers must not leave the vault, not even in a dump.'),
  hard('The shop may be read-only for at most 15 minutes.'),
  hard('Every copied table is compared by checksum before the switch.'),
  soft('Prefer views to changes in the old reports.'),
  decision('We copy with logical replication instead of a nightly dump.'),
  decision('Enums become lookup tables, so that the shop can add values.'),
  decision('Full text search moves to PostgreSQL and the Sphinx server is switched off.'),
  decision('Invoice numbers keep their gaps, as the tax adviser wants.'),
  open('Do the suppliers notice when their nightly export changes its encoding?'),
  open('Is the voucher lottery still allowed in Austria?'),
  step('Rehearse the switch with last week’s traffic', 'in_progress'),
  step('Ask the bank to test the callback address'),
  step('Drop the triggers of the old reporting'),
];

const DEVICES = pairs(
  splitWords('infusion-pump ventilator defibrillator bed-scale ultrasound monitor warmer'),
  ['-A1', '-A2', '-B1', '-B2', '-C1', '-C2', '-ICU', '-ER', '-Spare'],
);

const CLINIC: readonly PatchOp[] = [
  ...table(DEVICES, {
    serial: (at) => `SN-${4000 + at * 17}`,
    'next inspection': (at) =>
      `${(at % 27) + 1} ${splitWords('January March May July September November')[at % 6]}`,
    room: (at) => `${(at % 5) + 1}.${String((at * 7) % 40).padStart(2, '0')}`,
    battery: (at) => `lasts ${((at * 23) % 200) + 30} minutes`,
    firmware: (at) => `${(at % 4) + 1}.${at % 9}.${(at * 5) % 13}`,
    vendor: (at) => splitWords('Kestrel Ombra Valmed Nordlys Pulsar')[at % 5]!,
  }),
  fact('on-call technician', 'Marek Dudek, pager 5512'),
  fact('oxygen supply', 'two tanks, refilled every ninth day'),
  fact('emergency power', 'the diesel runs 38 hours on one filling'),
  fact('cleaning agent', 'peracetic acid, never chlorine, for screens'),
  hard('A device whose inspection is overdue is taken out of service the same day.'),
  hard('No ventilator leaves the intensive care unit without a replacement.'),
  decision('Spare parts of Ombra are ordered through Lyon because Turin closed.'),
  decision('Old bed scales are given to the veterinary school.'),
  open('Who pays for the loaned ultrasound after June?'),
  step('Replace the batteries of all defibrillators on floor 2', 'in_progress'),
  step('Train the night shift on the new warmers'),
];

const SERVICES = pairs(
  splitWords(
    'billing search mail login media audit export import ledger pricing routing catalog profile ' +
      'session webhook backup thumbnail gateway scheduler',
  ),
  ['', '-api', '-worker', '-staging', '-eu', '-us'],
);

const PLATFORM: readonly PatchOp[] = [
  ...table(SERVICES, {
    'log retention': (at) => `${((at * 29) % 170) + 5} days`,
    port: (at) => String(7000 + at * 3),
    team: (at) => splitWords('Heron Lynx Otter Falcon Badger Raven Stoat Wren')[at % 8]!,
    'memory limit': (at) => `${((at * 11) % 30) + 2} GiB`,
    replicas: (at) => String(((at * 5) % 11) + 2),
    'p99 latency': (at) => `${((at * 53) % 700) + 12} ms`,
    'deploy day': (at) => splitWords('Monday Tuesday Wednesday Thursday')[at % 4]!,
    language: (at) => splitWords('Go Rust Kotlin Python TypeScript')[at % 5]!,
  }),
  ...Array.from({ length: 60 }, (_, i) =>
    decision(
      `${SERVICES[i]} keeps its cache in ${['memory', 'Redis', 'SQLite'][i % 3]} with ${(i % 9) + 1} shards.`,
    ),
  ),
  hard('Customer data of Swiss tenants stays in Zurich.'),
  hard('Nobody deploys while an incident of severity one is open.'),
  hard('Secrets come from the vault, never from an environment file.'),
  soft('A dashboard has at most nine panels.'),
  decision('We stay with NATS and do not introduce Kafka, since nobody could run it at night.'),
  decision('gRPC is allowed between services of one team only.'),
  decision('The old image resizer is retired; thumbnail does its work.'),
  open('May the audit trail be sampled during load tests?'),
  open('Which team takes over the gateway when Heron is dissolved?'),
  step('Move login-eu to the new certificates', 'in_progress'),
  step('Delete the unused topics of webhook'),
];

const CUSTOMERS = pairs(
  splitWords(
    'Aldermoor Birchfield Carrow Dunmere Eastholm Fairlight Glenavon Harrowby Islay Jarrow Kilnsea ' +
      'Larkhill Marwood Netherby Oakengate Penhurst Quarley Ravensea',
  ),
  [
    ' Foods',
    ' Logistics',
    ' Textiles',
    ' Energy',
    ' Clinics',
    ' Schools',
    ' Bank',
    ' Dairy',
    ' Timber',
    ' Print',
  ],
);

const SUPPORT: readonly PatchOp[] = [
  ...table(CUSTOMERS, {
    contact: (at) =>
      `${splitWords('Nora Ivan Mei Paul Sana Tom Zoe Omar Lena')[at % 9]} ${splitWords('Beck Chan Diaz Ekberg Frost Gill Hart')[at % 7]}`,
    'contract end': (at) => `${(at % 28) + 1}.${(at % 12) + 1}.${2027 + (at % 4)}`,
    seats: (at) => String(((at * 97) % 4000) + 20),
    plan: (at) => splitWords('basic team business enterprise')[at % 4]!,
    'single sign-on': (at) => splitWords('Okta Entra Keycloak none')[(at * 3) % 4]!,
    'data region': (at) => splitWords('Dublin Frankfurt Oregon Tokyo Sydney')[at % 5]!,
    'open tickets': (at) => String((at * 19) % 23),
    currency: (at) => splitWords('EUR USD GBP JPY AUD CHF')[at % 6]!,
    discount: (at) => `${(at * 7) % 31} percent`,
    'response time': (at) => `within ${((at * 5) % 24) + 1} hours`,
    'last outage': (at) => `lasted ${((at * 41) % 110) + 3} minutes`,
  }),
  hard('Never name one customer to another.'),
  hard('Refunds above 500 need the signature of Petra Novak.'),
  hard('A ticket about lost data is answered by a person, not by a template.'),
  soft('Answer in the language of the ticket.'),
  decision('Customers on the old starter tariff are moved to basic at no cost.'),
  decision('Chat closes at eight in the evening, because nights were empty.'),
  decision('Schools get the summer months free.'),
  decision('Tickets older than 90 days without an answer are closed with a letter.'),
  open('Do clinics need a processor agreement of their own?'),
  open('Should the status page show planned work in Tokyo time?'),
  step('Call everybody whose contract ends in May', 'in_progress'),
  step('Rewrite the article about invoices'),
];

/** A question whose answer is the newest value of `key` in the state. */
interface Lookup {
  readonly ask: string;
  readonly key: string;
}

const look = (question: string, key: string): Lookup => ({ ask: question, key });

function stateCase(
  name: string,
  what: string,
  items: readonly PatchOp[],
  questions: readonly (Question | Lookup)[],
): StateCase {
  const valuesOf = (key: string) =>
    items.filter((item) => keyOf(item) === key).map((item) => `${key}…${itemValue(item).value}`);
  return {
    name,
    what,
    items: items.map((item, i) => ({ ...item, value: { id: `i${i}`, ...itemValue(item) } }) as PatchOp),
    questions: questions.map((question) => {
      if (!('key' in question)) return question;
      const values = valuesOf(question.key);
      if (values.length === 0) throw new Error(`${name} has no fact "${question.key}"`);
      return { ask: question.ask, facts: values.slice(-1), stale: values.slice(0, -1) };
    }),
  };
}

/** Five states with 50 to 2 000 items. Like people, the questions often use other words than the items. */
export const STATES: readonly StateCase[] = [
  stateCase(
    'release',
    '50 items: a release of an app',
    spread(RELEASE, [
      fact('release date', 'Tuesday 17 March, because the store video is late'),
      fact('offline books', 'at most 25 on one device'),
      fact('beta group of 4.1', '590 people through TestFlight'),
      fact('crash rate', '0.7 % of sessions in the first beta of 4.2'),
      fact('family plan in Japan', 'up to four people for 4.99'),
    ]),
    [
      look('When do we ship?', 'release date'),
      look('How many titles can I take along without a network?', 'offline books'),
      look('How often does the app crash at present?', 'crash rate'),
      look('How many testers are in the beta group?', 'beta group'),
      look('How many people share a family subscription, outside of Japan?', 'family plan'),
      ask('On which weekday must nothing be published?', 'No release on a Friday'),
      ask('Why are there no audio books yet?', 'licences are not signed'),
      ask('How fast does a book have to open, and on which phone?', 'within two seconds on a Galaxy A14'),
      ask('Which work is being done at the moment?', 'Fix the two TalkBack faults'),
      ask('In which format are highlights kept?', 'stored as Markdown'),
      ask('What is still unclear about support?', 'Who answers support mail'),
      ask('Which insurance does the company have against fire?'),
    ],
  ),
  stateCase(
    'shop',
    '150 items: the move of a database',
    spread(SHOP, [
      fact('orders rows', '88.4 million after the import of 2019'),
      fact('orders owner', 'Henrik, since Dmitri left'),
      fact('cut-over window', 'Sunday from one to three in the morning'),
      fact('connection pool', 'PgBouncer with 120 connections'),
      fact('connection pool of staging', 'PgBouncer with 15 connections'),
      fact('rollback', 'the old primary stays writable for ten days'),
      fact('rollback of staging', 'not possible'),
      fact('replication lag of staging', '9 seconds'),
      fact('largest blob of the archive', 'a catalogue of 44 MB'),
      fact('test restore', 'took 2 hours 5 minutes with parallel jobs'),
      fact('shipments copy time', '19 minutes'),
      fact('returns owner', 'Ingrid'),
      fact('basket_history rows', '0.2 million after the cleaning'),
      fact('vouchers primary key', 'uuid, since the lottery'),
      decision('Invoices older than ten years are not moved.'),
      decision('The search index is rebuilt after the switch, not before.'),
      step('Print the emergency plan on paper'),
    ]),
    [
      look('How many rows does the table orders have by now?', 'orders rows'),
      look('Who is responsible for the table orders?', 'orders owner'),
      look('On which day and at what hours do we switch over?', 'cut-over window'),
      look('How large is the pool of connections in production?', 'connection pool'),
      look('For how many days could we still go back to the old primary?', 'rollback'),
      look('How long does copying shipment_archive take?', 'shipment_archive copy time'),
      look('What is the type of the primary key of supplier_history?', 'supplier_history primary key'),
      look('How much time did restoring the backup need in the test?', 'test restore'),
      ask('For how many minutes may customers be unable to buy?', 'read-only for at most 15 minutes'),
      ask('What did we decide about the Sphinx search server?', 'the Sphinx server is switched off'),
      ask('Why do invoice numbers have gaps?', 'as the tax adviser wants'),
      ask('Which colour will the new packaging of the parcels have?'),
    ],
  ),
  stateCase(
    'clinic',
    '400 items: the devices of a clinic',
    spread(CLINIC, [
      fact('ventilator-B2 room', '4.31, moved during the renovation'),
      fact('monitor-ER battery', 'lasts 55 minutes after the repair'),
      fact('ultrasound-C1 next inspection', '30 June, brought forward'),
      fact('warmer-A2 firmware', '5.0.1'),
      fact('defibrillator-ICU vendor', 'Kestrel, exchanged under warranty'),
      fact('on-call technician', 'Hana Sato, pager 5519'),
      fact('on-call technician of the annex', 'Marek Dudek, pager 5530'),
      fact('oxygen supply', 'three tanks, refilled every twelfth day'),
      decision('Monitors are cleaned by the ward, pumps by the workshop.'),
      decision('Batteries are replaced at 60 percent of their first capacity.'),
      step('Label the new power sockets'),
    ]),
    [
      look('Where is ventilator-B2 now?', 'ventilator-B2 room'),
      look('How long does monitor-ER run without a socket?', 'monitor-ER battery'),
      look('When must ultrasound-C1 be inspected?', 'ultrasound-C1 next inspection'),
      look('Who makes defibrillator-ICU?', 'defibrillator-ICU vendor'),
      look('What is the serial number of infusion-pump-C2?', 'infusion-pump-C2 serial'),
      look('Which firmware does bed-scale-A1 run?', 'bed-scale-A1 firmware'),
      look('In which room is warmer-Spare?', 'warmer-Spare room'),
      look('Which technician is on call in the main building?', 'on-call technician'),
      ask('May a ventilator be lent to another ward?', 'No ventilator leaves the intensive care unit'),
      ask('Where do we order spare parts of Ombra?', 'ordered through Lyon'),
      ask('What happens to devices whose inspection is overdue?', 'taken out of service the same day'),
      ask('What does lunch in the canteen cost for visitors?'),
    ],
  ),
  stateCase(
    'platform',
    '1 000 items: the services of a platform',
    spread(PLATFORM, [
      fact('billing log retention', '400 days, as the auditors want'),
      fact('search-api port', '7999'),
      fact('mail-worker memory limit', '48 GiB'),
      fact('login-eu team', 'Marten'),
      fact('gateway replicas', '24'),
      fact('pricing-us p99 latency', '905 ms since the new index'),
      fact('catalog-staging deploy day', 'Friday, for once'),
      fact('session language', 'Elixir'),
      fact('billing invoice retention', '3650 days'),
      fact('billing log level', 'warn'),
      fact('search-api health port', '8001'),
      fact('mail-worker disk limit', '90 GiB'),
      fact('gateway replicas at night', '6'),
      decision('Retries between services are limited to two.'),
      decision('Feature flags live for at most 60 days.'),
      open('Does scheduler need a second region?'),
      step('Turn off the old metrics server'),
    ]),
    [
      look('What is the retention of billing logs?', 'billing log retention'),
      look('On which port does search-api listen?', 'search-api port'),
      look('How much memory may mail-worker use?', 'mail-worker memory limit'),
      look('Which team looks after login-eu?', 'login-eu team'),
      look('How slow is pricing-us at the 99th percentile?', 'pricing-us p99 latency'),
      look('How many replicas has routing-staging?', 'routing-staging replicas'),
      look('In what language is thumbnail-us written?', 'thumbnail-us language'),
      look('On what day is ledger-eu deployed?', 'ledger-eu deploy day'),
      ask('Where does media-worker keep its cache?', 'media-worker keeps its cache in'),
      ask('Why did we not take Kafka?', 'nobody could run it at night'),
      ask('Where must the data of tenants from Switzerland be?', 'stays in Zurich'),
      ask('Which airline do people book for the yearly meeting?'),
    ],
  ),
  stateCase(
    'support',
    '2 000 items: the customers of a support team',
    spread(SUPPORT, [
      fact('Carrow Dairy contact', 'Ruth Amsel, since Nora retired'),
      fact('Islay Bank seats', '5120 after the merger'),
      fact('Jarrow Clinics plan', 'enterprise plus'),
      fact('Penhurst Energy discount', '42 percent until the end of the year'),
      fact('Larkhill Schools data region', 'Oslo'),
      fact('Marwood Timber contract end', '31.12.2033'),
      fact('Carrow Dairy billing contact', 'Jo Ekberg'),
      fact('Islay Bank guest seats', '300'),
    ]),
    [
      look('Whom do we call at Carrow Dairy?', 'Carrow Dairy contact'),
      look('How many seats did Islay Bank buy?', 'Islay Bank seats'),
      look('Which plan is Jarrow Clinics on?', 'Jarrow Clinics plan'),
      look('What discount does Penhurst Energy get?', 'Penhurst Energy discount'),
      look('In which region is the data of Larkhill Schools?', 'Larkhill Schools data region'),
      look('Until when does the contract with Marwood Timber run?', 'Marwood Timber contract end'),
      look('How does Quarley Print sign in?', 'Quarley Print single sign-on'),
      look('How quickly must we answer Netherby Foods?', 'Netherby Foods response time'),
      look('How many tickets of Aldermoor Textiles are open?', 'Aldermoor Textiles open tickets'),
      ask('Who has to sign a refund of 800?', 'signature of Petra Novak'),
      ask('Why is the chat closed at night?', 'because nights were empty'),
      ask('Which tyres do the vans of the field service need?'),
    ],
  ),
];
