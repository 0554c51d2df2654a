import type { InvokeAnswer, InvokeInput } from './capabilities.ts';
import type { CapabilityInfo } from './capability.ts';

/** Capabilities as one caller sees them. */
export interface CapabilitiesApi {
  list(): Promise<{ capabilities: CapabilityInfo[] }>;
  invoke(input: InvokeInput): Promise<InvokeAnswer>;
}
