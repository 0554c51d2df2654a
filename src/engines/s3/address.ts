/** Where a bucket is and who may use it. */
export interface BucketAddress {
  readonly bucket: string;
  /** What the names of all objects begin with: empty, or with a slash at its end. */
  readonly prefix: string;
  /** The URL of the bucket itself, without a slash at its end. */
  readonly url: string;
  readonly region: string;
  /** Null where the environment has none. */
  readonly credentials: Credentials | null;
}

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

type Environment = { readonly [name: string]: string | undefined };

const SHAPE = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?(?:\?(.*))?$/;
const PARAMETERS = ['endpoint', 'region'];

/** What is wrong with an address, as a sentence; null where nothing is. */
export function addressProblem(address: string): string | null {
  const [matched, , , query] = SHAPE.exec(address) ?? [];
  if (matched === undefined) return 'it must be a bucket, such as s3://bucket?endpoint=https://s3.example.';
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return `of a bucket there are endpoint and region to tell, not ${unknown}.`;
  const endpoint = parameters.get('endpoint');
  if (endpoint === null) return null;
  const parsed = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return 'the endpoint must be an http or https URL.';
  if (parsed.username || parsed.password)
    return 'credentials go into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.';
  return null;
}

/**
 * `s3://bucket/prefix?endpoint=https://…&region=…`. What it leaves open, and the credentials, come from the variables that every
 * program for S3 reads. With an endpoint the bucket is the first part of the path, which all servers understand.
 */
export function parseBucket(address: string, env: Environment): BucketAddress {
  const [, bucket = '', path = '', query] = SHAPE.exec(address) ?? [];
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
