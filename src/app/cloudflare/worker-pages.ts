import { type DashboardFiles, typeOfFile } from '../../interfaces/http/dashboard.ts';
import type { RelayBindings } from './worker-config.ts';

/**
 * The pages from the platform's static assets, which count neither against the size of the Worker nor as storage. The Worker runs
 * before them, so that they leave with the relay's own headers; the platform packs them on the way out.
 */
export function workerPages(assets: NonNullable<RelayBindings['ASSETS']>): DashboardFiles {
  return {
    async read(path) {
      const type = typeOfFile(path);
      if (type === null) return null;
      const answer = await assets.fetch(`https://assets.local/${path}`);
      if (!answer.ok) return null;
      const hash = (answer.headers.get('etag') ?? '').replace(/^W\/|"/g, '');
      return { body: new Uint8Array(await answer.arrayBuffer()), type, encoding: null, hash };
    },
  };
}
