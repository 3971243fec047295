// The manifests of scripts/packaging against published schemas: validators and types of kubernetes-models, whose types also
// find members that do not exist, and the schema of InferencePool.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv';
import { Deployment } from 'kubernetes-models/apps/v1';
import { Service } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGING = join(HERE, '../../scripts/packaging');

const documents = (file) => parseAllDocuments(readFileSync(join(PACKAGING, file), 'utf8')).map((document) => document.toJS());
const [deployment, service] = documents('kubernetes.yaml');

// Returns the errors of a manifest by the types of kubernetes-models; empty: none.
function typeErrors(type, module, manifest) {
    const folder = mkdtempSync(join(HERE, 'node_modules', 'manifest-'));
    try {
        const file = join(folder, 'manifest.ts');
        writeFileSync(file, `import type { ${type} } from '${module}';\n` +
            `export const manifest: ${type} = ${JSON.stringify(manifest)};\n`);
        execFileSync(join(HERE, 'node_modules/.bin/tsc'), ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', file]);
        return '';
    } catch (error) {
        return String(error.stdout);
    } finally {
        rmSync(folder, { recursive: true });
    }
}

test('the deployment and the service fit the schemas of Kubernetes', () => {
    new Deployment(deployment).validate();
    new Service(service).validate();
    assert.equal(typeErrors('IDeployment', 'kubernetes-models/apps/v1', deployment), '');
    assert.equal(typeErrors('IService', 'kubernetes-models/v1', service), '');
});

test('the check finds a wrong name and a wrong type', () => {
    const wrong = structuredClone(deployment);
    wrong.spec.template.spec.containers[0].readinesProbe = {};
    assert.match(typeErrors('IDeployment', 'kubernetes-models/apps/v1', wrong), /readinesProbe/);
    const other = structuredClone(deployment);
    other.spec.replicas = 'two';
    assert.throws(() => new Deployment(other).validate(), /replicas/);
});

test('labels, ports and users agree', () => {
    const { spec, metadata } = deployment.spec.template;
    const [container] = spec.containers;
    const named = (port) => container.ports.find((one) => one.name === port)?.containerPort;
    for (const [key, value] of Object.entries({ ...service.spec.selector, ...deployment.spec.selector.matchLabels }))
        assert.equal(metadata.labels[key], value);
    assert.equal(named(service.spec.ports[0].targetPort), 8080);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        assert.equal(named(container[probe].httpGet.port), 8080);
    assert.equal(metadata.annotations['prometheus.io/port'], '8080');
    const drain = Number(container.env.find((one) => one.name === 'ETNA_DRAIN_TIMEOUT').value);
    assert.ok(drain < spec.terminationGracePeriodSeconds);
    const containerfile = readFileSync(join(PACKAGING, 'Containerfile'), 'utf8');
    assert.match(containerfile, new RegExp(`--uid ${spec.securityContext.runAsUser} `));
});

test('the pool fits the schema of InferencePool and selects the pods', () => {
    const definition = parseAllDocuments(readFileSync(join(HERE, '../data/kubernetes/inferencepools.yaml'), 'utf8'))[0].toJS();
    const [pool] = documents('inference-pool.yaml');
    assert.equal(pool.apiVersion, `${definition.spec.group}/${definition.spec.versions[0].name}`);
    assert.equal(pool.kind, definition.spec.names.kind);
    const closed = (schema) => { // members that the schema does not name are dropped by a cluster
        if (schema.type === 'object' && schema.properties)
            schema.additionalProperties ??= false;
        Object.values(schema.properties ?? {}).forEach(closed);
        if (schema.items)
            closed(schema.items);
        return schema;
    };
    const check = new Ajv({ strict: false, formats: { int32: true, int64: true, 'date-time': true } })
        .compile(closed(definition.spec.versions[0].schema.openAPIV3Schema.properties.spec));
    assert.ok(check(pool.spec), JSON.stringify(check.errors));
    assert.ok(!check({ ...pool.spec, targetPort: 8080 }));
    for (const [key, value] of Object.entries(pool.spec.selector.matchLabels))
        assert.equal(deployment.spec.template.metadata.labels[key], value);
    assert.equal(pool.spec.targetPorts[0].number, 8080);
});
