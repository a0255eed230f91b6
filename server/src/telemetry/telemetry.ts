/**
 * Telemetry of the process: Prometheus metrics always, OpenTelemetry spans over OTLP when an endpoint is configured.
 * Spans are created explicitly in two hooks; automatic instrumentation costs more than it is worth.
 */
import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

type RequestStart = Readonly<{
  operation: string;
  method: string;
  correlation_id: string;
  trace_id: string | undefined;
  traceparent: string | string[] | undefined;
}>;

export type Telemetry = Readonly<{
  registry: Registry;
  /** Starts one request; the returned function ends it with its status. */
  startRequest(start: RequestStart): (status: number) => void;
  /** A gauge that is read from its source whenever metrics are scraped. */
  gauge(
    name: string,
    help: string,
    labels: readonly string[],
    collect: () => Promise<readonly Readonly<{ labels: Readonly<Record<string, string>>; value: number }>[]>,
  ): void;
  stop(): Promise<void>;
}>;

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const createTracer = (otlpUrl: string, service: string): Readonly<{ tracer: Tracer; stop: () => Promise<void> }> => {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'host.role': 'platform_control' }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${otlpUrl}/v1/traces` }) })],
  });
  return { tracer: provider.getTracer('gpuaas'), stop: () => provider.shutdown() };
};

/** The caller's trace, if it sent one, as the parent of our span. */
const parentOf = (traceparent: string | string[] | undefined) => {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(
    Array.isArray(traceparent) ? '' : (traceparent ?? ''),
  );
  if (match?.[1] === undefined || match[2] === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: match[1],
    spanId: match[2],
    traceFlags: Number.parseInt(match[3] ?? '01', 16),
    isRemote: true,
  });
};

export const createTelemetry = (options: Readonly<{ otlp_url: string | null; service: string }>): Telemetry => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'gpuaas_process_' });
  const duration = new Histogram({
    name: 'gpuaas_http_request_duration_seconds',
    help: 'Time from the first byte in to the last byte out.',
    labelNames: ['operation', 'method', 'status'],
    buckets: BUCKETS_S,
    registers: [registry],
  });
  const errors = new Counter({
    name: 'gpuaas_http_errors_total',
    help: 'Responses with status 400 and above.',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const tracing = options.otlp_url === null ? null : createTracer(options.otlp_url, options.service);
  // Outgoing calls carry the caller's trace only where this is explicit; nothing is patched.
  propagation.disable();

  return {
    registry,
    startRequest: ({ operation, method, correlation_id, traceparent }) => {
      const startedAt = process.hrtime.bigint();
      const span = tracing?.tracer.startSpan(
        operation,
        { kind: SpanKind.SERVER, attributes: { 'http.request.method': method, correlation_id } },
        parentOf(traceparent),
      );
      return (status) => {
        duration.observe(
          { operation, method, status: String(status) },
          Number(process.hrtime.bigint() - startedAt) / 1e9,
        );
        if (status >= 400) errors.inc({ operation, status: String(status) });
        span?.setAttribute('http.response.status_code', status);
        if (status >= 500) span?.setStatus({ code: SpanStatusCode.ERROR });
        span?.end();
      };
    },
    gauge: (name, help, labels, collect) => {
      const gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect: async () => {
          gauge.reset();
          for (const sample of await collect()) gauge.set(sample.labels, sample.value);
        },
      });
    },
    stop: async () => tracing?.stop(),
  };
};
