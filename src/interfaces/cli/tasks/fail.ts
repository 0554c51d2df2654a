import { settlementCommand } from './done.ts';

export default settlementCommand('failed');
