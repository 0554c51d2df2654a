import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Patience } from '../../src/integrations/patience.ts';
import { ROOT } from '../package/processes.ts';

/**
 * Preload this file with --import to run the tests of an integration with the frameworks of the folder FRAMEWORKS. Packages that
 * are not in this folder, such as test tools, come from src/integrations/node_modules.
 */

const elsewhere = pathToFileURL(join(process.env.FRAMEWORKS!, 'importer.js')).href;
const ours = ['src/integrations', 'test/integrations'].map(
  (folder) => pathToFileURL(join(ROOT, folder)).href,
);

// Lets a busy machine take longer to store a large result. The deadline has tests of its own.
Patience.offloadMs = 60_000;

registerHooks({
  resolve(specifier, context, next) {
    const isPackage = /^(?:@|[a-z])[^:]*$/.test(specifier);
    // Read `parentURL` first, because Node changes the context in each call of `next`.
    const { parentURL } = context;
    if (!isPackage || !ours.some((folder) => parentURL?.startsWith(`${folder}/`)))
      return next(specifier, context);
    try {
      return next(specifier, { ...context, parentURL: elsewhere });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
      return next(specifier, { ...context, parentURL });
    }
  },
});
