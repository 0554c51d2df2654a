import { ESCAPE } from './terminal-text.ts';

export type Style = ReturnType<typeof makeStyle>;

/** Colours and weights for a terminal; texts stay as they are where it is not `on`. */
export function makeStyle(on: boolean) {
  const paint = (open: number, close: number) => (text: string) =>
    on ? `${ESCAPE}[${open}m${text}${ESCAPE}[${close}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}
