/** Text frames, as they are. */
export const TEXT = { binary: false, compress: false, fin: true } as const;

/** Close codes. 1001 and 1008 are the protocol's own. */
export const GOING_AWAY = 1001;
export const REFUSED = 1008;
/** The reader does not keep up. */
export const TOO_SLOW = 4008;
