/** A question to a thread. Its author did not see the contents of the thread. */
export interface Question {
  readonly ask: string;
  /**
   * A correct answer contains one of these facts. Empty if no text has the answer; then "nothing found" is correct.
   * `key…value` matches both parts in one line, at most 20 characters apart.
   */
  readonly facts: readonly string[];
  /** Outdated facts. A later text corrects them, so an answer with an outdated fact is wrong. */
  readonly stale?: readonly string[];
}

export interface Case {
  /** Name of the folder with the texts. */
  readonly name: string;
  readonly what: string;
  readonly questions: readonly Question[];
}

const ask = (question: string, ...facts: string[]): Question => ({ ask: question, facts });
const unanswerable = (question: string): Question => ({ ask: question, facts: [] });

/**
 * The five use cases of ContextRelay's first README, and ten steps over many sources. The questions were written
 * before the code that answers them.
 */
export const CASES: readonly Case[] = [
  {
    name: 'review',
    what: 'a diff for review',
    questions: [
      ask('For how many seconds does a job that failed the third time sit?', '30 * SECOND', '1 s, 5 s, 30 s'),
      ask(
        'What share may a wait grow by at random, so that things which failed together do not return together?',
        'JITTER = 0.2',
      ),
      ask('What is the longest delay a group can impose on work?', 'GROUP_RETRY_MAX_MS = HOUR'),
      ask(
        'Which line tells people that a message was abandoned after its attempts, and where to look for dead ones?',
        'was given up after',
      ),
      ask('Which HTTP status comes back once a dead letter was thrown away?', '204'),
      ask('What is the route for having a group try a buried letter once more?', '/dead/:seq/retry'),
      ask(
        'Which reason is told for a letter whose pointer has run out?',
        'its pointer has expired or was revoked',
      ),
      ask(
        'How much longer than its letter does a mark that somebody dealt with it stay?',
        'MARK_MARGIN_MS = 60_000',
      ),
      ask('Entries of which release name no moment for the retry?', 'Entries of 0.1.0'),
      ask('Under which idempotency key is a task sent a second time?', 'task-again:'),
      ask(
        'What is somebody told who gives neither numbers nor --all when clearing dead letters?',
        'Which dead letters?',
      ),
      ask(
        'Why is a task sent anew rather than handed back to its group?',
        'a task has only one',
        'because it has its failed result',
        'has got its failed result',
      ),
      unanswerable('Which colour does the dashboard paint a busy chart with?'),
    ],
  },
  {
    name: 'whales',
    what: 'research in prose',
    questions: [
      ask('Which god did Queequeg ask for advice on the choice of a craft?', 'Yojo'),
      ask('What height had the cone-shaped shelter behind the main-mast?', 'ten feet high'),
      ask('Which lay was Ishmael finally entered for by Peleg?', 'three hundredth'),
      ask('At what age did Bildad stop working?', 'age of sixty'),
      ask('In which year did Linnaeus say that whales are no fish?', '1776'),
      ask('How does the author define a whale in one short phrase?', 'spouting fish with a horizontal tail'),
      ask('Despite their meagre blubber, how much fuel in gallons do some whales give?', 'thirty gallons'),
      ask("How long does the narwhale's horn usually grow?", 'horn averages five feet'),
      ask('What was the name of the vessel of 1778 that first went hunting beyond Cape Horn?', 'Amelia'),
      ask(
        'What ration of beer, in barrels, did every Low Dutch mariner have for the season?',
        'two barrels of beer per man',
      ),
      ask("How heavy is the biggest sperm whale by the narrator's own reckoning?", 'ninety tons'),
      ask("What did the clergyman's children do with the smallest bones of the spine?", 'play marbles'),
      ask('After how long is a man on the mast-head replaced by the next?', 'every two hours'),
      ask('Out of fifty throws of the harpoon, how many hit?', 'not five are successful'),
      unanswerable('What wage did the railway pay its telegraph clerks in Boston?'),
    ],
  },
  {
    name: 'run',
    what: 'the log of a long task',
    questions: [
      ask(
        'How many milliseconds did it take to check that a body deleted by hand gives a clear error?',
        '128.001113',
      ),
      ask('How slow was the case about keeping the changes log short?', '3412.688574'),
      ask('What duration has the test with a client whose clock lags a day?', '2.179036'),
      ask(
        'How long did the check run that model instructions in project files stay out of a brief?',
        '2.970938',
      ),
      ask('Which time was measured for several processes sharing the steps of one run?', '307.422247'),
      ask('What did it cost to see that a resource is no longer read once its client leaves?', '211.964813'),
      ask('How much time until an exported thread was in an empty store with equal hashes?', '4389.902514'),
      ask('What is the number of suites in this test run?', 'suites 24'),
      ask('What is the hop count at which an envelope is turned away?', 'beyond 50 hops'),
      ask('What shortest and longest span may a thread live, in seconds and years?', 'at most ten years'),
      ask('How long did the pool need until it was closed and could work again?', '1099.561685'),
      unanswerable('Which customer reported the outage of the payment gateway?'),
    ],
  },
  {
    name: 'tables',
    what: 'a large JSON between two steps',
    questions: [
      ask('At how many kelvin does Tungsten start boiling?', '"boilingPoint":5828'),
      ask('In what year was Gallium found?', '"yearDiscovered":1875'),
      ask('What density has Osmium, the heaviest metal?', '"density":22.61'),
      ask('At which temperature does Iodine melt?', '"meltingPoint":387'),
      ask('Which hex code is the color of Sulfur in models?', '"cpkHexColor":"FFFF30"'),
      ask('How large is the electronegativity of Cesium on the usual scale?', '"electronegativity":0.79'),
      ask('What is the atomic weight of Bromine?', '79.904'),
      ask('In which state is Mercury under standard conditions at home?', '"standardState":"liquid"'),
      ask("What three letters stand for Iceland's Keflavik airport?", '"iata": "KEF"'),
      ask('How far north in degrees lies Oslo Gardermoen?', '60.19419'),
      ask('At which longitude would a pilot find Singapore Changi?', '103.990204'),
      ask('Which country code belongs to Murtala Muhammed airport?', '"iso": "NG"'),
      unanswerable('How many passengers did Changi serve during the holidays?'),
      unanswerable('What is the price of a gram of Rhodium at the exchange?'),
    ],
  },
  {
    name: 'design',
    what: 'a plan and its code',
    questions: [
      ask('How much disk does an installation use because Node comes along?', '200 MB'),
      ask('From which size on are bodies kept as files next to the database?', '128 KiB'),
      ask('After how many seconds does the hold on a pipeline lapse when nobody renews it?', '15 seconds'),
      ask('How big would the usual toolkit for models be when bundled?', '1.6 MB'),
      ask('In how many languages did the earlier filter know those phrases?', '31 languages'),
      ask("How often is a group's state written to its record?", 'every 128 entries'),
      ask('For how many days is a webhook that says no tried again?', 'seven days'),
      ask('How deep may JSON nest when one value of it is looked up?', '64 levels'),
      ask(
        'Below how many bytes are messages left as they are instead of compressed?',
        'threshold=1024',
        ': 1024;',
      ),
      ask('How many zlib calls may run at the same time?', 'concurrencyLimit=10', ': 10;'),
      ask('How big is the pool of random bytes for masks?', 'RANDOM_POOL_SIZE = 8 * 1024'),
      ask('How many milliseconds does a server wait for the closing before it cuts the line?', '30000'),
      ask('Which status gets an upgrade whose method is other than GET?', '405'),
      ask('Which versions does the server list when that header is wrong?', '13, 8'),
      unanswerable('Which insurance covers losses when a satellite link goes down?'),
    ],
  },
  {
    name: 'addresses',
    what: 'ten steps over many sources',
    questions: [
      ask('Roughly how many souls does the census give for the present population?', '4,000,000 persons'),
      ask('At what yearly interest was money borrowed at Antwerp?', '4.5%'),
      ask('In which part of Pennsylvania did riot against the excise break out?', 'four western counties'),
      ask('Who was drawn by lot as commissioner at the meeting in London?', 'John Trumbull'),
      ask(
        'What afflicted Philadelphia so that the Legislature nearly gathered somewhere else?',
        'contagious sickness',
      ),
      ask('Which officer led the little schooner that beat a Tripolitan cruiser?', 'Lieutenant Sterret'),
      ask('What length of residence is asked for before citizenship?', '14 years'),
      ask('How many frigates of those ordered out of service are already laid up?', '5 of the 7 frigates'),
      ask('With which king was a treaty of friendship and trade settled?', 'King of Prussia'),
      unanswerable('Which steam railway is to join Boston with Albany?'),
    ],
  },
];
