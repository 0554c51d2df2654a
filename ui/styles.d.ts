/** Styles are part of the bundle, and give nothing. */
declare module '*.css';
