/** Location of a bucket, and its credentials. */
export interface BucketAddress {
  readonly bucket: string;
  /** Prefix of all object names: empty, or with a slash at the end. */
  readonly prefix: string;
  /** URL of the bucket, without a slash at the end. */
  readonly url: string;
  readonly region: string;
  /** Credentials. Null if the environment has none. */
  readonly credentials: Credentials | null;
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

type Environment = { readonly [name: string]: string | undefined };

const ADDRESS_PATTERN = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?(?:\?(.*))?$/;
const PARAMETERS = ['endpoint', 'region'];

/** Returns a sentence that says what is wrong with an address, or null if it is valid. */
export function addressProblem(address: string): string | null {
  const [matched, , , query] = ADDRESS_PATTERN.exec(address) ?? [];
  if (matched === undefined)
    return 'it must be the address of a bucket, such as s3://bucket?endpoint=https://s3.example.';
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return `it has the unknown parameter ${unknown}. Use only endpoint and region.`;
  const endpoint = parameters.get('endpoint');
  if (endpoint === null) return null;
  const parsed = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return 'the endpoint must be an http or https URL.';
  if (parsed.username || parsed.password)
    return 'it must not contain credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.';
  return null;
}

/**
 * Parses `s3://bucket/prefix?endpoint=https://…&region=…`. Missing parts and the credentials come from the standard
 * AWS_… environment variables. With an endpoint, the bucket is part of the URL path, because every S3 server supports
 * this.
 */
export function parseBucket(address: string, env: Environment): BucketAddress {
  const [, bucket = '', path = '', query] = ADDRESS_PATTERN.exec(address) ?? [];
  const parameters = new URLSearchParams(query);
  const endpoint = parameters.get('endpoint') ?? (env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || null);
  const region = parameters.get('region') ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1');
  const accessKeyId = env.AWS_ACCESS_KEY_ID;
  const secretAccessKey = env.AWS_SECRET_ACCESS_KEY;
  const sessionToken = env.AWS_SESSION_TOKEN || undefined;
  return {
    bucket,
    prefix: path === '' || path.endsWith('/') ? path : `${path}/`,
    url: endpoint
      ? `${endpoint.replace(/\/+$/, '')}/${bucket}`
      : `https://${bucket}.s3.${region}.amazonaws.com`,
    region,
    credentials:
      accessKeyId && secretAccessKey
        ? { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
        : null,
  };
}
