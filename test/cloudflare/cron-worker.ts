export { RelayObject } from '../../src/app/cloudflare/relay-object.ts';

let runs = 0;

/** Answers with the number of runs of its cron job. */
export default {
  fetch: () => new Response(String(runs)),
  scheduled: () => {
    runs++;
  },
};
