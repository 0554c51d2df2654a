/** Stands for the package `punycode.js` in the bundle: the browser itself writes the names of hosts as they are sent. */
export default {
  toASCII: (host: string) => host,
  toUnicode: (host: string) => host,
};
