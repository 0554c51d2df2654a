/** What workerd lets a test do; behind the flag `unsafe_module`. */
declare module 'workerd:unsafe' {
  const unsafe: { evictAllDurableObjects(o: { webSockets: 'hibernate' | 'close' }): Promise<void> };
  export default unsafe;
}
