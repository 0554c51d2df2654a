/**
 * Lines from files and from others as data: what could pass for an instruction to a model is taken out of them. Looking
 * closely takes longer than a hook may, so a quick look decides whether there is any need to.
 */
export async function harmless(lines: readonly string[]): Promise<readonly string[]> {
  if (!mightInstruct(lines.join('\n'))) return lines;
  const { neutralise } = await import('../../base/sanitize/neutralise.ts');
  return lines.map(neutralise);
}

/** Says yes too often: to every text that is not plain ASCII, and to words that mostly mean nothing bad. */
export function mightInstruct(text: string): boolean {
  if (/[^\t\n -~]/.test(text)) return true;
  const plain = text.toLowerCase().replace(HASHES, '');
  return PARTS.some((part) => plain.includes(part)) || WORDS.test(plain) || FORMS.test(plain);
}

/** Commits and pointers: long, and in every brief. */
const HASHES = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[0-9]*[a-f])[0-9a-f]{7,40})\b/g;

/**
 * What an order to a model has in it, in English and in languages that are written in the same letters. A list: as a
 * pattern it would take longer to prepare than to look for each of them.
 */
const PARTS: readonly string[] = [
  'ignor|disreg|forget|overr|bypass|neglect|discard|dismiss|overlook|circumvent|supersed|obey|comply',
  'attention|reveal|verbatim|repeat|recite|leak|jail|god mode|restrict|filtered|censor|pretend|play as',
  'act as|behave|from now|from here|from this point|instru|istruz|prompt|directive|guideline|sudo|assistant',
  'system|developer|silently|secretly|covertly|without ask|without tell|without confirm|without inform',
  'without notify|the user|any user|exfil|upload|send|forward|transmit|conversation|credential|webhook',
  'untrusted|safety|future|answers|reading this|you are|you re|you must|you will|your real|your true',
  'your new|as a ai|as an ai|as a llm|as an llm|as a language|as an language|language model|precedence',
  'anweis|befehl|regel|vorgab|richtlin|vergiss|missacht|olvid|omit|omiso|indicac|descart|orden|oubli',
  'consigne|ordre|diment|trascur|comand|regol|esque|regra|negeer|vergeet|opdracht|zapomn|polece|zasad',
  'abaikan|lupakan|perintah|talimat|unut|komut|glem|glom|unohda|ohje|uita|felejt|hagyd|zapome|pokyn|sahau',
  'bo qua|quen|huong dan|chi dan|kalimut|utos|puuza|maagizo|snoitc|tpmorp|erongi',
].flatMap((line) => line.split('|'));

/** Words that are parts of innocent ones, and what is said in many ways. */
const WORDS =
  /\bdan\b|\bhuman\b|\b(?:ai|llm|gpt|claude|gemini|copilot|chatbot)\b|(?:every|each|all) (?:of )?(?:your )?(?:repl|respon|answer|output|message)/;

/** How words are hidden: tags and brackets, encodings, letters set apart or replaced by digits and signs. */
const FORMS =
  /<[\s/|<!]*[a-z_]|\[\s?\/?\s?[a-z_]+\s?\]|<<|>>|[a-z0-9+/_-]{24,}|%[0-9a-f]{2}|\\[ux]|&[#a-z]|(?:\b[a-z](?:[\s.*_|~-]+|$)){4,}|[a-z][0-9@$!|]+[a-z]|[0-9@$][a-z]+[0-9@$]|(?:\b[0-9a-f]{2}\b[\s,]*){6,}|(?:\b[0-9]{2,8}\b[\s,]*){6,}|[a-z]-\s+[a-z]|\b(?:fhqb|vtaber|erirny)|(?:-[a-z]+){4,}/;
