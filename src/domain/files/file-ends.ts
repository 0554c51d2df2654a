import type { Deps } from '../deps.ts';
import { EndIndex } from '../end-index.ts';
import type { FilePlace } from './names.ts';

/** Which files end when. */
export const fileEnds = (deps: Pick<Deps, 'engine' | 'env'>) => new EndIndex<FilePlace>(deps, 'sys.fil/');
