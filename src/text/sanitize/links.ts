/**
 * Takes links and pictures of Markdown and HTML apart, so that whoever renders the text neither loads anything nor shows one
 * address under the name of another. A blank stands where they were joined, and the address stays to be read; an address
 * that stands by itself is left alone. Doing it twice changes nothing.
 */
export function linksAsText(text: string): string {
  let out = text;
  if (out.includes(']('))
    out = out.replace(INLINE, (_, blanks = '', address) => (address ? `] (${blanks}\`${address}\`` : '] ('));
  if (out.includes(']:')) out = out.replace(DEFINITION, '] :');
  return out.includes('<') ? out.replace(TAG, '< ') : out;
}

/** An address with a scheme, however that is spelt, or with a host. What is neither leads nowhere else. */
const ELSEWHERE = '[^\\s<>()`]{0,60}[:&]|[\\\\/]{2}';

/** `](address`: a link or a picture. As code, the address is no link by itself either. */
const INLINE = new RegExp(`\\]\\((?:(\\s{0,20})<?((?=${ELSEWHERE})[^\\s<>()\`]{1,2000})>?)?`, 'g');

/** `[name]: address`, for `[text][name]`. No scheme begins with a digit, but ports and times do. */
const DEFINITION = new RegExp(`\\]:(?=\\s*<?(?!\\d)(?:${ELSEWHERE}))`, 'g');

/** Elements that load, link or run something. */
const ELEMENTS =
  'a|applet|area|audio|base|button|embed|form|frame|iframe|image|img|input|link|meta|object|picture|script|source|style|svg|track|use|video';

/** Attributes that do so in any element. */
const ATTRIBUTES =
  'action|background|cite|data|formaction|href|on[a-z]{1,30}|ping|poster|src|srcdoc|srcset|style';

/** The beginning of such an element, of one with such an attribute, and of `<scheme:…>`. */
const TAG = new RegExp(
  `<(?=/?(?:${ELEMENTS})(?![\\w-])|[a-z][^<>]*[\\s/"':](?:${ATTRIBUTES})\\s*=|[a-z][a-z0-9+.-]{1,31}:)`,
  'gi',
);
