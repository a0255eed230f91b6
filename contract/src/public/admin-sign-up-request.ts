/** People who wait for an operator under the sign-up policy `approved`. */
import Type from 'typebox';
import { Closed, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { operatorChanges, operatorReads, Reason } from './operator.ts';

export const SIGN_UP_REQUEST_STATES = ['pending', 'approved', 'rejected'] as const;

export const SignUpRequest = Closed({
  id: Id('sign_up_request'),
  user_id: Id('user'),
  name: Type.String(),
  email: Nullable(Type.String()),
  email_verified: Type.Boolean(),
  state: StringEnum(SIGN_UP_REQUEST_STATES),
  reason: Nullable(Type.String({ description: 'Reason of the decision. The person sees it.' })),
  decided_by: Nullable(Id('user')),
  decided_at: Nullable(Time('When it was decided.')),
  created_at: Time('First sign-in.'),
});

const params = Closed({ sign_up_request_id: Id('sign_up_request') });
const change = operatorChanges('Site');

export const adminSignUpRequestApi = define({
  adminSignUpRequestList: {
    ...operatorReads('Site'),
    path: '/api/v1/admin/sign-up-requests',
    summary: 'List people who asked to sign up',
    permission: 'admin.sign_up_request.read',
    query: Closed({ ...PageQuery, state: Type.Optional(StringEnum(SIGN_UP_REQUEST_STATES)) }),
    response: Page(SignUpRequest),
  },
  adminSignUpRequestApprove: {
    ...change,
    path: '/api/v1/admin/sign-up-requests/{sign_up_request_id}/approve',
    summary: 'Approve a sign-up; the person gets a personal organization with the default GPU limit',
    description: 'A rejected request can be approved later.',
    permission: 'admin.sign_up_request.update',
    audit: 'sign_up_request.approve',
    freshSignIn: true,
    params,
    body: Closed({ reason: Type.Optional(Reason) }),
    status: 200,
    response: SignUpRequest,
    errors: ['conflict'],
  },
  adminSignUpRequestReject: {
    ...change,
    path: '/api/v1/admin/sign-up-requests/{sign_up_request_id}/reject',
    summary: 'Reject a sign-up; the person sees the reason',
    permission: 'admin.sign_up_request.update',
    audit: 'sign_up_request.reject',
    freshSignIn: true,
    params,
    body: Closed({ reason: Reason }),
    status: 200,
    response: SignUpRequest,
    errors: ['conflict'],
  },
});
