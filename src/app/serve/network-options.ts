import { isLoopback } from '../../base/address.ts';
import { RelayError } from '../../base/errors.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { ServeOptions } from '../../interfaces/cli/host.ts';
import type { RequestSeen } from '../../interfaces/http/deps.ts';
import type { Config } from '../config.ts';
import { startMetering } from './metering.ts';
import { ownHosts } from './own-hosts.ts';
import type { ServerOptions } from './serve.ts';
import { flushLog, logEvent, logRequest } from './server-log.ts';
import { TraceExporter } from './trace-exporter.ts';

export interface NetworkOptions {
  readonly server: Omit<ServerOptions, 'core' | 'version'>;
  /** Exports what is used, where the configuration says so. Gives the way to stop. */
  meter(core: RelayCore): () => Promise<void>;
  /** Writes what waits to be written. */
  flush(): void;
}

/** What the configuration and the command line make of a server, put together. */
export function networkOptions(config: Config, o: ServeOptions, auth: 'open' | 'keys'): NetworkOptions {
  const { server } = config;
  const publicUrl = o.publicUrl ?? (config.publicUrlChosen ? config.publicUrl : null);
  const guarded = auth === 'keys' || !isLoopback(o.host);
  const traces = server.otlpEndpoint === null ? null : new TraceExporter(server.otlpEndpoint, logEvent);
  const observers: ((seen: RequestSeen) => void)[] = [];
  if (server.logRequests ?? auth === 'keys') observers.push(logRequest);
  if (traces) observers.push((seen) => traces.add(seen));
  return {
    server: {
      host: o.host,
      port: o.port,
      auth,
      publicUrl,
      allowedHosts: [...config.allowedHosts, ...ownHosts(o.host)],
      tls: tlsOf(config, o),
      trustedProxies: o.trustProxy ?? server.trustedProxies,
      corsOrigins: server.corsOrigins,
      rateLimits: guarded ? server.rateLimits : null,
      connections: { total: server.maxConnections },
      log: logEvent,
      ...(observers.length > 0
        ? { observe: (seen: RequestSeen) => observers.forEach((observer) => void observer(seen)) }
        : {}),
    },
    meter: (core) => startMetering(core, server, logEvent),
    flush: () => {
      traces?.flush();
      flushLog();
    },
  };
}

function tlsOf({ server }: Config, o: ServeOptions): { cert: string; key: string } | null {
  const cert = o.tlsCert ?? server.tlsCert;
  const key = o.tlsKey ?? server.tlsKey;
  if (cert === null && key === null) return null;
  if (cert !== null && key !== null) return { cert, key };
  throw new RelayError('bad_usage', {
    what: `TLS needs a certificate and its key; the ${cert === null ? 'certificate' : 'key'} is missing.`,
    hint: 'Give both: --tls-cert cert.pem --tls-key key.pem',
  });
}
