/** How long the certificates last that secure the channel of agents. */
import { X509Certificate } from 'node:crypto';
import type { Clock } from '@gpuaas/kit';
import type { Telemetry } from './telemetry.ts';

/** Of the first certificate of a PEM text; a negative number once it has ended. */
const remainingS = (pem: string, clock: Clock): number =>
  (Date.parse(new X509Certificate(pem).validTo) - clock.now().getTime()) / 1000;

/** A certificate that does not exist yet has no value. */
export const addCertificateGauge = (
  telemetry: Telemetry,
  metric: Readonly<{ name: string; help: string; clock: Clock; pem(): string | undefined }>,
): void => {
  telemetry.gauge(metric.name, metric.help, [], async () => {
    const pem = metric.pem();
    return pem === undefined ? [] : [{ labels: {}, value: remainingS(pem, metric.clock) }];
  });
};
