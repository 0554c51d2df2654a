export { RelayObject } from '../../src/app/cloudflare/relay-object.ts';

let runs = 0;

/** Says how often its cron was run. */
export default {
  fetch: () => new Response(String(runs)),
  scheduled: () => {
    runs++;
  },
};
