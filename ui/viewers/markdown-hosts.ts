/** Replaces the package `punycode.js` in the bundle: the browser encodes host names itself. */
export default {
  toASCII: (host: string) => host,
  toUnicode: (host: string) => host,
};
