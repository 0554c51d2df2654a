/**
 * Marks that chat templates and tool protocols give a meaning to. They are looked for in the text as it stands, with
 * full-width signs taken for plain ones.
 */

const NAMES =
  'im_start|im_end|im_sep|endoftext|startoftext|endofprompt|system|user|assistant|tool|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text|begin_of_sentence|end_of_sentence|fim_prefix|fim_suffix|fim_middle|python_tag|start|end|message|channel|return|call|constrain|observation|context|turn|pad|sep|reserved_special_token_\\d+|[a-z_]{2,40}_(?:begin|end|start|of|id|token)\\w*';

/** Tags by which a model's own calls, turns and orders are told apart. */
const TAGS =
  'tool_calls?|tool_use|tool_result|tool_response|function_calls?|function_results?|invoke|antml:[a-z_]+|system|system[-_]reminder|system[-_]prompt|system[-_]message|system[-_]instructions?|assistant|start_of_turn|end_of_turn|start_of_role|end_of_role|bos|eos|thinking|scratchpad|developer|developer[-_]message|im_start|im_end|endoftext|human';

/** A mark, and what must be in a text before it is worth looking for: preparing a pattern takes longer than most texts. */
interface Markup {
  readonly kind: string;
  readonly needs: readonly string[];
  readonly pattern: () => RegExp;
}

const MARKUP: readonly Markup[] = [
  {
    kind: 'chat markup',
    needs: ['<'],
    pattern: once(() => new RegExp(`<\\s{0,2}\\|\\s{0,2}/?(?:${NAMES})\\s{0,2}\\|\\s{0,2}>`, 'gi')),
  },
  { kind: 'chat markup', needs: ['<|'], pattern: () => /<\|[A-Za-z][\w▁ -]{0,40}\|>/g },
  {
    kind: 'chat markup',
    needs: ['['],
    pattern: () => /\[\s?\/?\s?(?:INST|SYS|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\s?\]/gi,
  },
  { kind: 'chat markup', needs: ['<<'], pattern: () => /<<\s?\/?\s?SYS\s?>>/gi },
  {
    kind: 'chat markup',
    needs: ['#'],
    pattern: () =>
      /^[ \t>*_#-]{0,8}#{1,6}\s{0,2}\**(?:system|instruction|human|assistant|user input|input instructions)\**\s{0,2}:/gim,
  },
  {
    kind: 'tool markup',
    needs: ['<'],
    pattern: once(() => new RegExp(`<\\s{0,2}/?\\s{0,2}(?:${TAGS})(?:\\s[^<>\\n]{0,400})?/?>`, 'gi')),
  },
  {
    kind: 'tool markup',
    needs: ['<'],
    pattern: () => /<\/?(?:function|parameter)\s?=\s?[\w."'-]{1,80}\s?>/gi,
  },
  { kind: 'tool markup', needs: ['<'], pattern: () => /<\/?(?:function_calls|invoke|parameter) name=/gi },
  // Legacy turn markers: a turn begins behind a blank line, in exactly these words.
  {
    kind: 'role header',
    needs: ['Human:', 'Assistant:'],
    pattern: () => /(?<=\n[ \t]*\n)[ \t]*(?:Human|Assistant):(?=\s)/g,
  },
  {
    kind: 'role header',
    needs: ['system', 'developer', 'assistant'],
    pattern: () =>
      /^[ \t>*_#-]{0,8}\[?\**(?:system|developer|assistant)(?: ?(?:message|prompt|instructions?|note))?\**\]?\**\s{0,2}:\**\s{0,4}(?=(?:you (?:are|must|will|should|have)|ignore|disregard|forget|override|from now|new |reveal|your |the (?:user|assistant)|as an? |do not|always|never|obey|respond|act|print|output|execute|call|send|delete))/gim,
  },
  // The frame of previews: content must not be able to close it.
  {
    kind: 'frame',
    needs: ['<<<', '>>>'],
    pattern: () => /(?:<{3}|>{3})\s?(?:END )?(?:relay|untrusted)[^\n<>]{0,400}(?:>{3}|<{3})/gi,
  },
];

/** The marks in a text, with full-width signs and two letters that only look odd taken for plain ones, unit by unit. */
export function* markupIn(text: string): Generator<{ start: number; end: number; kind: string }> {
  const plain = text.replace(/[！-～ſ\u212a]/g, plainSign);
  const lower = plain.toLowerCase();
  for (const { kind, needs, pattern } of MARKUP) {
    if (!needs.some((part) => plain.includes(part) || lower.includes(part))) continue;
    for (const match of plain.matchAll(pattern())) {
      yield { start: match.index, end: match.index + match[0].length, kind };
    }
  }
}

function plainSign(char: string): string {
  if (char === 'ſ') return 's';
  return char === '\u212a' ? 'K' : String.fromCharCode(char.charCodeAt(0) - 0xfee0);
}

function once(make: () => RegExp): () => RegExp {
  let made: RegExp | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
