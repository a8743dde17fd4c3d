// Static names for the packages, so that they are loaded only by a run that exports traces.
export { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
export { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
export { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
export { BatchSpanProcessor, type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
