import { hasUncommon } from './characters.ts';
import { LANGUAGES, type Language } from './languages.ts';
import { foldWord } from './reading.ts';

/** Patterns that are looked for in a reading (see reading.ts): lower case, one blank between words. */

/*
 * In a reading whatever is no separator is part of a word. Said so, and not by Unicode classes, the patterns compile a
 * hundred times faster.
 */
const WORD = '[^ .:]{1,16}';
const START = '(?<![^ .:])';
const END = '(?![^ .:])';

const words = (text: string) => text.trim().split(/\s+/).map(toSource).join('|');
const whole = (source: string) => new RegExp(`${START}(?:${source})${END}`, 'g');

/** In English, precisely: this is the language of most harmless text about the same things. */
const DROP =
  'ignore|disregard|forget|override|overrule|bypass|neglect|discard|dismiss|overlook|circumvent|supersede|do not follow|don t follow|dont follow|do not obey|stop following|pay no attention to';
const FILL =
  'all|any|every|each|the|of|your|my|our|its|these|those|this|that|and|or|both|other|such|prior|previous|to|about|from|completely|totally|entirely|please|just|now|immediately|everything|in|a';
const OLD =
  'previous|prior|above|earlier|preceding|foregoing|former|existing|original|initial|current|system|developer|safety|security|past|old|default|built in|hidden|operator|all|your|any|internal|core|previously given|aforementioned';
const RULE =
  'instructions?|prompts?|rules?|directions?|guidelines?|commands?|orders?|directives?|constraints?|programming|policies|policy|protocols?|guardrails?|safeguards|restrictions|filters';
const HIDDEN =
  'system prompts?|system messages?|system instructions?|initial prompts?|initial instructions?|original prompts?|original instructions?|hidden prompts?|hidden instructions?|secret instructions?|developer messages?|developer instructions?|prompt verbatim|instructions verbatim|pre ?prompt|internal instructions?';
const MACHINE =
  'ai|llms?|a i|language models?|large language models?|ai models?|ai assistants?|ai agents?|chatbots?|ai systems?|gpt|chatgpt|claude|gemini|copilot';
const SECRET =
  'api keys?|secrets?|credentials|environment variables|env vars?|passwords?|ssh keys?|private keys?|access tokens?|tokens|cookies|conversation|chat history|file contents|env file';

/** What each of the words of DROP has in it. */
const DROPPING =
  'ignore disregard forget override overrule bypass neglect discard dismiss overlook circumvent supersede follow obey attention';

/** Each with words of which at least one must be there before it is worth looking; of each list, where `&` joins several. */
const ENGLISH: readonly (readonly [needs: string, source: string])[] = [
  [
    `${DROPPING} & instruction prompt rule direction guideline command order directive constraint programming polic protocol guardrail safeguard restriction filter`,
    `(?:${DROP}) (?:(?:${FILL}) ){0,5}(?:${OLD}) (?:(?:${OLD}|${FILL}) ){0,3}(?:${RULE})`,
  ],
  [
    `${DROPPING} & instruction prompt rule direction guideline command order directive constraint programming polic protocol guardrail safeguard restriction filter`,
    `(?:${DROP}) (?:(?:${FILL}) ){0,3}(?:${RULE}) (?:(?:that|which|you|were|was|have|been|had) ){0,4}(?:above|before|given|earlier|previously|so far|received|provided|told)`,
  ],
  [
    `${DROPPING} & everything anything all whatever`,
    `(?:${DROP}) (?:everything|anything|all|whatever) (?:(?:that|which|of|you|i|we|they|was|were|is|have|has|had|been|it|the|written|said|stated|mentioned|your) ){0,5}(?:above|before(?: this)?|told|said so far|been told|learned|instructed|prior to this|previously)`,
  ],
  [
    `${DROPPING} & above previous preceding prior`,
    `(?:${DROP}) (?:the )?(?:above|previous text|preceding text|prior context|previous context|above text|above context) (?:and|instead)`,
  ],
  [
    'your & prompt instruction message',
    `(?:reveal|print|show|output|repeat|display|leak|disclose|tell me|give me|dump|expose|recite|share|write out|what is|what are|what was) (?:(?:me|us|out|to|all|of|the|your|full|entire|exact|complete|whole|verbatim|own|back) ){0,6}your (?:(?:full|entire|exact|complete|whole|own|verbatim) ){0,3}(?:${HIDDEN})`,
  ],
  [
    'above prompt message instruction verbatim & starting_with verbatim word_for_word in_full',
    `(?:repeat|print|output|recite|reveal|dump) (?:(?:all|of|the|everything|words|text|every|word|full|entire) ){1,6}(?:above|${HIDDEN})(?: starting with| verbatim| word for word| in full)`,
  ],
  [
    'anything_now dan_mode broken_mode god_mode',
    'do anything now|dan mode|jail ?broken mode|god mode enabled',
  ],
  [
    'you_are you_re',
    `you (?:are|re) (?:now |no longer )(?:(?:a|an|in|the|role|of|bound|by|under|any|called|named|known|as|my|acting|operating|playing|going|to|be|act|free|from) ){0,6}(?:dan|jailbroken|jailbreak|unrestricted|unfiltered|uncensored|unbound|evil|stan|aim|rules|restrictions|guidelines|restricted|limited|assistant|chatbot|language model|ai|llm|policies)`,
  ],
  [
    'act behave respond answer pretend roleplay role_play speak operate & restrict filter censor jailbroken amoral evil dan limit rules guidelines',
    '(?:act|behave|respond|answer|pretend|roleplay|role play|speak|operate)(?: (?:as|like|to be|as though|as if|that|in))?(?: you)? (?:(?:a|an|the|are|were|had|have|is|there|being) ){0,4}(?:dan|unrestricted|unfiltered|uncensored|jailbroken|amoral|no (?:restrictions|rules|limits|filters|guidelines|limitations)|without (?:restrictions|rules|limits|filters|guidelines)|evil (?:ai|assistant|twin))',
  ],
  [
    'mode & dan jailbreak god unrestricted unfiltered uncensored evil sudo opposite no_limits',
    `(?:enter|enable|activate|switch to|engage|start|turn on) (?:(?:the|your|full|into) ){0,2}(?:dan|jailbreak|god|unrestricted|unfiltered|uncensored|evil|sudo|opposite|no limits) mode`,
  ],
  [
    'from_now from_this_point from_here',
    'from (?:now|this point|here)(?: on| onwards?| forward)? you (?:(?:must|will|shall|are|should|only|to|always|no longer|have) ){1,3}(?:act|behave|respond|answer|reply|ignore|obey|pretend|speak|only (?:obey|answer|respond)|follow (?:only|my)|comply|dan)',
  ],
  [
    'your_real your_true your_actual your_secret your_hidden',
    'your (?:real|true|actual|secret|hidden) (?:instructions?|task|objective|directive|goal|mission|purpose|orders?) (?:is|are)',
  ],
  [
    'new_ & instruction prompt directive',
    'new (?:(?:system|developer|secret|priority|updated|important|override|admin|high priority) ){0,3}(?:instructions?|prompts?|directives?)(?= ?:)',
  ],
  [
    'override',
    '(?:system|developer|admin|administrator|root|priority|emergency|security|operator) (?:prompt |instruction |message |command )?override(?: code| activated| engaged| enabled|(?=:))',
  ],
  [
    'attention note_to notice_to message_to message_for instruction hey dear hello & ai llm language_model chatbot gpt claude gemini copilot a_i',
    `(?:attention|note to|notice to|message to|message for|instructions? to|instructions? for|hey|dear|hello) (?:(?:all|any|the|every|reading|other) ){0,3}(?:${MACHINE})(?: model| reading this| assistant| agent| processing this)?(?=[:.]| you | please | ignore | if | do )`,
  ],
  [
    'if_you',
    `if you (?:are|re) (?:(?:a|an|the|any) ){0,2}(?:${MACHINE}|bot|automated (?:system|agent|assistant)) (?:(?:or|llm|ai|model|agent|assistant|and|are|currently|now) ){0,4}(?:reading|processing|summari[sz]ing|seeing|parsing|analy[sz]ing|reviewing|you must|then you|please)`,
  ],
  [
    'as_a & you_must you_will you_shall you_are you_have',
    `as (?:a|an) (?:${MACHINE})(?: language model| model| assistant| agent)? you (?:must|will|shall|are required|are obligated|have to)`,
  ],
  [
    'tell inform alert warn notify mention reveal say_anything disclose & user human operator owner developer',
    '(?:do not|don t|dont|never|must not) (?:tell|inform|alert|warn|notify|mention (?:this|it|anything) to|reveal (?:this|it) to|say anything to|disclose (?:this|it) to) (?:the |any )?(?:user|human|operator|owner|developer)s?(?: about| of| that)? ?(?:this|these|it|what|anything|you|(?=[.:]|$))',
  ],
  [
    'silently secretly covertly without_ & execute run perform carry_out do call invoke send delete use',
    '(?:execute|run|perform|carry out|do|call|invoke|send|delete|use) (?:(?:the|this|following|these|it|command|commands|code|tool|action|script|instructions?|below|above|all|files?) ){1,5}(?:silently|secretly|covertly|without (?:asking|telling|informing|notifying|confirmation|confirming|the users? knowledge|permission|user consent))',
  ],
  [
    'send post upload exfiltrate forward email e_mail leak transmit submit copy & key secret credential environment env password token cookie conversation history file_contents',
    `(?:send|post|upload|exfiltrate|forward|email|e mail|leak|transmit|submit|copy) (?:(?:the|all|any|every|your|their|users?|contents?|of|full|entire|this|and|a|copy|recent|stored) ){0,6}(?:${SECRET}) (?:${WORD} ){0,8}?(?:to|via|at) (?:(?:the|this|my|our|following|an?|external|remote|attacker|url|server|address|endpoint|webhook|email) ){0,4}(?:https?|www|attacker|evil|webhook|[a-z0-9]+ at [a-z0-9]+|server|url|address|endpoint)`,
  ],
  [
    'begin end start & system user assistant developer hidden & prompt message instruction turn context',
    '(?:begin|end|start) (?:of )?(?:the )?(?:new )?(?:system|user|assistant|developer|hidden) (?:prompts?|messages?|instructions?|turn|context)',
  ],
  [
    'end_of stop_reading',
    '(?:end of|stop reading) (?:the )?(?:prompt|instructions|system prompt|untrusted data|untrusted content|document context)',
  ],
  [
    'append include add insert embed & every each all & response answer repl output message',
    '(?:append|include|add|insert|embed) (?:(?:the|this|following|a|link|url|text|phrase|image|sentence|markdown|hidden) ){1,6}(?:to|in|into|at the end of) (?:every|each|all)(?: of)?(?: your| future| subsequent)* (?:responses?|answers?|repl(?:y|ies)|outputs?|messages?)',
  ],
  [
    'developer creator administrator openai anthropic deepmind programmer',
    '(?:i am|this is|message from|order from|by order of|authori[sz]ed by|as) (?:your |the )?(?:developer|creator|administrator|openai|anthropic|google deepmind|system administrator|programmer)s? (?:and |so )?(?:you must|i order|i command|i hereby|obey|disable|override|instructing you|i am instructing)',
  ],
  [
    'you_must',
    'you must (?:now )?(?:obey|comply with) (?:me|my|only|every|all|the following|these)(?: new)?(?: orders?| commands?| instructions?| requests?)?',
  ],
  [
    'disable turn_off remove deactivate switch_off suspend & safety content ethical security moral moderation',
    '(?:disable|turn off|remove|deactivate|switch off|suspend) (?:(?:all|any|your|the|of|every) ){1,3}(?:safety|content|ethical|security|moral|moderation) (?:filters?|guidelines?|protocols?|restrictions|checks|guardrails|measures|policies|mechanisms|training|settings)',
  ],
  ['sudo', 'sudo (?:mode|override|ignore|disregard|reveal)'],
  [
    'supersedes overrides precedence replaces',
    'this (?:message|text|document|content) (?:supersedes|overrides|takes precedence over|replaces) (?:(?:all|any|the|your|other|of) ){0,4}(?:instructions?|prompts?|rules?|guidelines?|previous|prior|system)',
  ],
];

/** The heart of it with the blanks gone, for words that were run or spelt together. */
const SQUEEZED =
  '(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|every|of|my|these|those){0,4}(?:previous|prior|above|earlier|preceding|system|existing|original|your|all)(?:system|safety)?(?:instructions?|prompts?|rules|guidelines|directives?|commands|orders)|(?:reveal|print|show|repeat|leak)(?:me)?(?:your|the)(?:system|hidden|initial|secret)(?:prompt|instructions?)|doanythingnow';

/** A pattern that is compiled only once a text has the words it needs: compiling them all takes longer than any text. */
export interface Pattern {
  readonly core: boolean;
  /** All the matches in a reading's text. */
  in(text: string): Iterable<RegExpMatchArray>;
}

let all: readonly Pattern[] | null = null;

export function patterns(): readonly Pattern[] {
  all ??= [
    ...ENGLISH.map(([needs, source], i) =>
      lazy(
        () => needs.split('&').map(literals),
        () => whole(source),
        { core: i < CORE },
      ),
    ),
    ...LANGUAGES.map((language) =>
      lazy(
        () => [literals(language.verbs), literals(language.nouns)],
        () => overrideIn(language),
        {
          uncommon: language.verbs.split(/\s+/).every(hasUncommon),
        },
      ),
    ),
  ];
  return all;
}

/** The first of the English ones, which are looked for in turned and shifted text too. */
const CORE = 6;

export const SQUEEZED_PATTERN = lazy(
  () => [
    [
      'ignore',
      'disregard',
      'forget',
      'override',
      'bypass',
      'reveal',
      'print',
      'show',
      'repeat',
      'leak',
      'doanything',
    ],
  ],
  () => new RegExp(SQUEEZED, 'g'),
);

/** `uncommon`: all that it needs is written in characters that few texts have. */
function lazy(
  needed: () => readonly (readonly string[])[],
  make: () => RegExp,
  o: { readonly core?: boolean; readonly uncommon?: boolean } = {},
): Pattern {
  let needs: readonly (readonly string[])[] | null = null;
  let regex: RegExp | null = null;
  return {
    core: o.core ?? false,
    in(text) {
      if (o.uncommon && !hasUncommon(text)) return [];
      needs ??= needed();
      if (!needs.every((some) => some.some((word) => text.includes(word)))) return [];
      regex ??= make();
      return text.matchAll(regex);
    },
  };
}

/** The parts of the words that stand in any text they match. */
function literals(list: string): string[] {
  return list
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll('*', '').split('_').map(foldWord).join(' '));
}

function overrideIn({ verbs, nouns, which, dense }: Language): RegExp {
  const [v, n, w] = [words(verbs), words(nouns), words(which)];
  if (dense) {
    // Generous: Korean is read in single sounds, three to a syllable.
    const near = '[^.:]{0,24}?';
    return new RegExp(
      `(?:${v})${near}(?:${w})${near}(?:${n})|(?:${v})${near}(?:${n})${near}(?:${w})|(?:${w})${near}(?:${n})${near}(?:${v})`,
      'g',
    );
  }
  const some = (upTo: number) => `(?: ${WORD}){0,${upTo}}? `;
  const object = `(?:(?:${w})${some(2)}(?:${n})|(?:${n})${some(2)}(?:${w}))`;
  return whole(`(?:${v})${some(3)}${object}|${object}${some(3)}(?:${v})`);
}

function toSource(word: string): string {
  const folded = word
    .split('_')
    .map((part) => foldWord(part.replace('*', '')) + (part.endsWith('*') ? '[^ .:]{0,8}' : ''));
  return folded.join(' ');
}
