import { BRIEF_LINE_CHARS } from '../../base/limits.ts';

/**
 * Text from a file as one line of a brief: what a reader would not see (control characters, marks that turn the
 * direction, characters without width, tags) is gone, white space is one space, and a long line is cut.
 */
export function plainLine(text: string, most: number = BRIEF_LINE_CHARS): string {
  const seen = text.replace(UNSEEN, '').replace(/\s+/g, ' ').trim();
  if (seen.length <= most) return seen;
  // Never half of a surrogate pair, and at a space where one is near.
  const cut = seen.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '');
  const space = cut.lastIndexOf(' ');
  return `${space > most * 0.8 ? cut.slice(0, space) : cut}…`;
}

/** Listed, because classes of Unicode take milliseconds to compile. What goes to a model also passes `neutralise`. */
const UNSEEN =
  /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;
