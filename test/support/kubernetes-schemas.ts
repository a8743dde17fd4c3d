/**
 * Schemas of the Kubernetes objects that opsctl writes, transcribed by hand from the API reference (batch/v1 and
 * core/v1) for the fields that opsctl uses. They are closed, as `kubectl --validate=strict` is: a new field needs a
 * line here.
 */
import { Ajv } from 'ajv';

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const list = (items: object) => ({ type: 'array', items });
const closed = (properties: object, ...required: string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
/** RFC 1123: the name of an object is a subdomain, and the name of a container or volume is a label. */
const objectName = { ...text, maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' };
const labelName = { ...text, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
const meta = closed({ name: objectName }, 'name');
const mount = closed(
  { name: labelName, mountPath: { ...text, pattern: '^[^:]+$' }, readOnly: flag, subPath: text },
  'name',
  'mountPath',
);
const container = closed(
  {
    name: labelName,
    image: text,
    args: list(text),
    env: list(closed({ name: text, value: text }, 'name')),
    envFrom: list(closed({ secretRef: closed({ name: objectName, optional: flag }) })),
    securityContext: closed({
      allowPrivilegeEscalation: flag,
      readOnlyRootFilesystem: flag,
      capabilities: closed({ drop: list(text) }),
    }),
    volumeMounts: list(mount),
  },
  'name',
);
/** A volume has a name and exactly one source. */
const volume = {
  ...closed(
    {
      name: labelName,
      configMap: closed({ name: objectName }),
      secret: closed({ secretName: objectName, defaultMode: { ...count, maximum: 0o777 } }),
      emptyDir: closed({}),
      persistentVolumeClaim: closed({ claimName: objectName }, 'claimName'),
    },
    'name',
  ),
  minProperties: 2,
  maxProperties: 2,
};
const pod = closed(
  {
    automountServiceAccountToken: flag,
    containers: { ...list(container), minItems: 1 },
    // A Job accepts no pod that always restarts.
    restartPolicy: { enum: ['Never', 'OnFailure'] },
    securityContext: closed({ fsGroup: count, runAsNonRoot: flag, runAsUser: count }),
    volumes: list(volume),
  },
  'containers',
  'restartPolicy',
);
const job = closed({ backoffLimit: count, template: closed({ spec: pod }, 'spec') }, 'template');
const cronJob = closed(
  {
    schedule: { ...text, pattern: '^(\\S+ ){4}\\S+$' },
    concurrencyPolicy: { enum: ['Allow', 'Forbid', 'Replace'] },
    startingDeadlineSeconds: count,
    successfulJobsHistoryLimit: count,
    failedJobsHistoryLimit: count,
    jobTemplate: closed({ spec: job }, 'spec'),
  },
  'schedule',
  'jobTemplate',
);
const claim = closed({
  accessModes: list({ enum: ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'] }),
  resources: closed({ requests: closed({ storage: { ...text, pattern: '^\\d+([KMGTPE]i?)?$' } }) }),
});
const object = (apiVersion: string, kind: string, spec: object) =>
  closed(
    { apiVersion: { const: apiVersion }, kind: { const: kind }, metadata: meta, spec },
    'apiVersion',
    'kind',
    'metadata',
    'spec',
  );
const ajv = new Ajv({ allErrors: true });
const checks: Readonly<Record<string, ReturnType<typeof ajv.compile>>> = {
  CronJob: ajv.compile(object('batch/v1', 'CronJob', cronJob)),
  PersistentVolumeClaim: ajv.compile(object('v1', 'PersistentVolumeClaim', claim)),
};
/** Returns what an API server would reject in an object: a path and a rule for each problem. */
export const kubernetesProblems = (value: { readonly kind: string }): string[] => {
  const check = checks[value.kind];
  if (check === undefined) return [`unknown kind ${value.kind}`];
  check(value);
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};
