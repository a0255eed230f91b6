import Type from 'typebox';
import { Closed, DisplayText, Name } from '../common.ts';
import { define } from '../define.ts';
import { imageDigest, imageName, imageVersion, OsImage } from './catalog.ts';

const change = { method: 'POST', tag: 'Catalog', access: 'platform', idempotency: 'required' } as const;
const permission = 'admin.image.update';

export const adminImageApi = define({
  adminOsImageRegister: {
    ...change,
    path: '/api/v1/admin/os-images',
    summary: 'Register an image, or a new version of one',
    description:
      'New launches use the newest version that is not retired; allocations keep the digest they were launched with. A digest is registered once: a retired one cannot return.',
    permission,
    audit: 'image.register',
    freshSignIn: true,
    status: 201,
    body: Closed({
      name: imageName('Image slug.'),
      display_name: DisplayText('Display name.'),
      os_family: DisplayText('Distribution.', 40),
      os_version: DisplayText('Operating system version.', 40),
      ...imageVersion,
      sku_names: Type.Array(Name(), {
        minItems: 1,
        maxItems: 50,
        uniqueItems: true,
        description: 'SKUs that can use the image.',
      }),
    }),
    response: OsImage,
    errors: ['conflict'],
  },
  adminOsImageRetire: {
    ...change,
    path: '/api/v1/admin/os-images/{image_name}/retire',
    summary: 'Retire a version of an image',
    description:
      'New launches use the newest version that is not retired; without one the image is disabled. Running allocations continue. This cannot be undone: the same digest cannot be registered under this name again.',
    permission,
    audit: 'image.retire',
    freshSignIn: true,
    status: 200,
    params: Closed({ image_name: imageName('Image slug.') }),
    body: Closed({
      digest: imageDigest('The version to retire.'),
      reason: DisplayText('Reason, stored with the version and in the audit row.', 240),
    }),
    response: OsImage,
    errors: ['conflict'],
  },
});
