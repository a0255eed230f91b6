/** Tickets and sessions. The gateway of a ticket is `mock:`, which terminal/connect.ts serves in the page itself. */

import { FIELD_MESSAGES, REFUSALS } from '../../../server/src/domain/sentences.ts';
import {
  acceptsInput,
  isRecorded,
  recordingRefusal,
  sessionNotice,
  sessionRefusal,
  TICKET_S,
} from '../../../server/src/domain/session.ts';
import { type MockCtx, must, projectOf, type Req } from '../core/context.ts';
import { conflict, invalidField, notFound, Refusal } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import { digestOf } from '../core/random.ts';
import type { Session } from '../core/rows.ts';
import { offerTicket } from '../terminal/tickets.ts';
import { powerFacts } from '../views/allocation.ts';
import { getAllocation } from './allocation.ts';

const view = ({ project_id: _, ticket: __, ticket_expires_at: ___, ...row }: Session) => row;

const getSession = (ctx: MockCtx, allocationId: string, id: string): Session => {
  const row = ctx.world.sessions.get(id);
  return must(row?.allocation_id === getAllocation(ctx, allocationId).id ? row : undefined, 'session');
};

const assertPort = (kind: Session['kind'], port: number | undefined): void => {
  if ((kind === 'forward') === (port !== undefined)) return;
  throw kind === 'forward'
    ? invalidField('port', FIELD_MESSAGES.forward_needs_port, 'required')
    : invalidField('port', FIELD_MESSAGES.port_needs_forward);
};

export const terminalSession = {
  terminalTicketCreate: async (ctx: MockCtx, { params, body }: Req<'terminalTicketCreate'>) => {
    const { world, principal } = ctx;
    const row = getAllocation(ctx, params.allocation_id);
    assertPort(body.kind, body.port);
    const mayConnect = ctx.holds('allocation.connect', row.organization_id, row.project_id);
    if (!mayConnect && body.kind !== 'console') throw new Refusal('permission_denied', REFUSALS.console_only);
    const policy = must(world.policies.get(row.organization_id), 'organization');
    const policies = { organization: policy, project: must(world.projects.get(row.project_id), 'project') };
    const unrecorded = recordingRefusal(policies, body.kind);
    if (unrecorded !== null) throw new Refusal('policy_denied', unrecorded);
    const refusal = sessionRefusal(powerFacts(row), body.kind);
    if (refusal !== null) throw conflict(refusal);
    const is_recorded = isRecorded(policies, body.kind);
    const is_writable = mayConnect && acceptsInput(row);
    const id = world.mint('terminal_session');
    const session: Session = {
      id,
      project_id: projectOf(ctx),
      allocation_id: row.id,
      kind: body.kind,
      port: body.port ?? null,
      state: 'ticketed',
      is_writable,
      is_recorded,
      principal_id: principal.id,
      principal_name: principal.name,
      source_ip: null,
      bytes_in: 0,
      bytes_out: 0,
      created_at: world.ago(),
      opened_at: null,
      closed_at: null,
      expires_at: world.ago(-policy.session_max_s * 1000),
      end_reason: null,
      end_message: null,
      correlation_id: ctx.correlation_id,
      ticket: digestOf(`ticket ${id}`, 43),
      ticket_expires_at: world.now() + TICKET_S * 1000,
    };
    world.sessions.set(id, session);
    offerTicket({ world, session, allocation: row, size: { cols: body.cols ?? 80, rows: body.rows ?? 24 } });
    ctx.target('terminal_session', id);
    return {
      session_id: id,
      ticket: session.ticket,
      url: `mock:${id}`,
      expires_at: new Date(session.ticket_expires_at).toISOString(),
      kind: body.kind,
      is_writable,
      notice: sessionNotice(is_recorded),
    };
  },
  terminalSessionList: async (ctx: MockCtx, { params, query }: Req<'terminalSessionList'>) => {
    const row = getAllocation(ctx, params.allocation_id);
    const { world } = ctx;
    const rows = [...world.sessions.values()].filter(
      (one) => one.allocation_id === row.id && (one.state !== 'ticketed' || one.ticket_expires_at > world.now()),
    );
    return pageOf(ctx, query, newestFirst(rows), idOf, view);
  },
  terminalSessionGet: async (ctx: MockCtx, { params }: Req<'terminalSessionGet'>) =>
    view(getSession(ctx, params.allocation_id, params.session_id)),
  terminalSessionClose: async (ctx: MockCtx, { params }: Req<'terminalSessionClose'>) => {
    const session = getSession(ctx, params.allocation_id, params.session_id);
    const row = getAllocation(ctx, params.allocation_id);
    if (
      session.principal_id !== ctx.principal.id &&
      !ctx.holds('project.member.update', row.organization_id, row.project_id)
    )
      throw new Refusal('permission_denied', REFUSALS.session_of_others);
    if (session.state !== 'closed') {
      const isOwn = session.principal_id === ctx.principal.id;
      const ended = isOwn ? REFUSALS.session_ended_elsewhere : REFUSALS.session_ended_by_admin;
      const isOpen = session.state !== 'ticketed';
      Object.assign(session, {
        state: 'closed',
        closed_at: ctx.world.ago(),
        end_reason: 'ended',
        end_message: isOpen ? ended : REFUSALS.session_ended_early(ctx.principal.name),
      });
    }
    return undefined;
  },
  terminalRecordingGet: async (ctx: MockCtx, { params }: Req<'terminalRecordingGet'>) => {
    const session = getSession(ctx, params.allocation_id, params.session_id);
    if (!session.is_recorded) throw notFound('recording');
    return recordingOf(session);
  },
};

type RecordingLine = { version: 2; width: number; height: number } | (string | number)[];

async function* recordingOf(session: Session): AsyncGenerator<RecordingLine> {
  yield { version: 2, width: 80, height: 24 };
  yield [0.1, 'o', `session ${session.id}\r\n`];
  yield [0.6, 'o', 'ubuntu@vm:~$ nvidia-smi -L\r\n'];
  yield [1.2, 'o', 'GPU 0: NVIDIA H200\r\n'];
}
