/**
 * Marks that chat templates and tool protocols give a meaning to. They are looked for in the text as it stands, with
 * full-width signs taken for plain ones.
 */

const NAMES =
  'im_start|im_end|im_sep|endoftext|startoftext|endofprompt|system|user|assistant|tool|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text|begin_of_sentence|end_of_sentence|fim_prefix|fim_suffix|fim_middle|python_tag|start|end|message|channel|return|call|constrain|observation|context|turn|pad|sep|reserved_special_token_\\d+|[a-z_]{2,40}_(?:begin|end|start|of|id|token)\\w*';

/** Tags by which a model's own calls, turns and orders are told apart. */
const TAGS =
  'tool_calls?|tool_use|tool_result|tool_response|function_calls?|function_results?|invoke|antml:[a-z_]+|system|system[-_]reminder|system[-_]prompt|system[-_]message|system[-_]instructions?|assistant|start_of_turn|end_of_turn|start_of_role|end_of_role|bos|eos|thinking|scratchpad|developer|developer[-_]message|im_start|im_end|endoftext|human';

export const MARKUP: readonly { readonly pattern: RegExp; readonly kind: string }[] = [
  {
    kind: 'chat markup',
    pattern: new RegExp(`<\\s{0,2}\\|\\s{0,2}/?(?:${NAMES})\\s{0,2}\\|\\s{0,2}>`, 'giu'),
  },
  { kind: 'chat markup', pattern: /<\|[A-Za-z][\w▁ -]{0,40}\|>/gu },
  {
    kind: 'chat markup',
    pattern: /\[\s?\/?\s?(?:INST|SYS|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\s?\]/giu,
  },
  { kind: 'chat markup', pattern: /<<\s?\/?\s?SYS\s?>>/giu },
  {
    kind: 'chat markup',
    pattern:
      /^[ \t>*_#-]{0,8}#{1,6}\s{0,2}\**(?:system|instruction|human|assistant|user input|input instructions)\**\s{0,2}:/gimu,
  },
  {
    kind: 'tool markup',
    pattern: new RegExp(`<\\s{0,2}/?\\s{0,2}(?:${TAGS})(?:\\s[^<>\\n]{0,200})?/?>`, 'giu'),
  },
  { kind: 'tool markup', pattern: /<\/?(?:function|parameter)\s?=\s?[\w."'-]{1,80}\s?>/giu },
  { kind: 'tool markup', pattern: /<\/?(?:function_calls|invoke|parameter) name=/giu },
  // Legacy turn markers: a turn begins behind a blank line, in exactly these words.
  {
    kind: 'role header',
    pattern: /(?<=\n[ \t]*\n)[ \t]*(?:Human|Assistant):(?=\s)/gu,
  },
  {
    kind: 'role header',
    pattern:
      /^[ \t>*_#-]{0,8}\[?\**(?:system|developer|assistant)(?: ?(?:message|prompt|instructions?|note))?\**\]?\**\s{0,2}:\**\s{0,4}(?=(?:you (?:are|must|will|should|have)|ignore|disregard|forget|override|from now|new |reveal|your |the (?:user|assistant)|as an? |do not|always|never|obey|respond|act|print|output|execute|call|send|delete))/gimu,
  },
  // The frame of previews: content must not be able to close it.
  { kind: 'frame', pattern: /(?:<{3}|>{3})\s?(?:END )?(?:relay|untrusted)[^\n<>]{0,200}(?:>{3}|<{3})/giu },
];
