import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate extends Disposable {
  readonly cert: string;
  readonly key: string;
}

/** Creates a self-signed certificate for this machine. Null if openssl is missing. */
export function makeCertificate(name = 'localhost'): Certificate | null {
  const folder = mkdtempSync(join(tmpdir(), 'relay-tls-'));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const dispose = () => rmSync(folder, { recursive: true, force: true });
  try {
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    execFileSync('openssl', [...args, '-days', '2', '-keyout', key, '-out', cert, ...subject], {
      stdio: 'ignore',
    });
    return { cert, key, [Symbol.dispose]: dispose };
  } catch {
    dispose();
    return null;
  }
}
