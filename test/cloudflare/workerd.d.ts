/** Test functions of workerd, available with the flag `unsafe_module`. */
declare module 'workerd:unsafe' {
  const unsafe: { evictAllDurableObjects(o: { webSockets: 'hibernate' | 'close' }): Promise<void> };
  export default unsafe;
}
