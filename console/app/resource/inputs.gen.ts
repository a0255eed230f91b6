// Written by `make gen` from contract/. Do not edit.
import type { Inputs } from './input.ts';

export const adminWorkflowRunRetry = {
  "step": {
    "kind": "text",
    "description": "Step to continue from (default: the stuck step).",
    "pattern": "^[A-Za-z0-9]+$",
    "lengthMax": 64
  }
} as const satisfies Inputs;

export const adminWorkflowRunCancel = {
  "reason": {
    "kind": "text",
    "description": "Reason, shown in the timeline.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminOrganizationCreate = {
  "name": {
    "kind": "text",
    "isRequired": true,
    "description": "Lower-case name, unique where it is used.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "display_name": {
    "kind": "text",
    "description": "Display name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 120
  },
  "owner_user_id": {
    "kind": "text",
    "description": "The owner, who has signed in before.",
    "pattern": "^usr_[0-9a-hjkmnp-tv-z]{26}$"
  },
  "owner_email": {
    "kind": "text",
    "description": "The owner, by invitation.",
    "lengthMax": 254
  },
  "gpu_limit": {
    "kind": "integer",
    "isNullable": true,
    "description": "Default: `default_gpu_limit` of the site policy. Null for no limit.",
    "min": 0,
    "max": 1000000
  }
} as const satisfies Inputs;

export const adminUserUpdate = {
  "state": {
    "kind": "text",
    "options": [
      "active",
      "disabled"
    ]
  },
  "platform_role": {
    "kind": "text",
    "isNullable": true,
    "options": [
      "superadmin",
      "ops"
    ]
  }
} as const satisfies Inputs;

export const adminRegionCreate = {
  "name": {
    "kind": "text",
    "isRequired": true,
    "description": "Region code.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "display_name": {
    "kind": "text",
    "isRequired": true,
    "description": "Display name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 120
  },
  "enabled": {
    "kind": "boolean",
    "description": "Whether tenants can launch (default: true)."
  },
  "disabled_reason": {
    "kind": "text",
    "isNullable": true,
    "description": "Shown to tenants while disabled.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "wipe_minimum": {
    "kind": "text",
    "description": "Minimum wipe level between two tenants (default: clear).",
    "options": [
      "clear",
      "purge"
    ]
  },
  "allows_wipe_override": {
    "kind": "boolean",
    "description": "Whether a two-person override makes a slot schedulable (default: false)."
  },
  "fabric_isolation": {
    "kind": "text",
    "description": "Provider that keeps tenants apart on the fabric (default: none). With `none`, VMs started from then on have no fabric function.",
    "options": [
      "none"
    ]
  }
} as const satisfies Inputs;

export const adminRegionUpdate = {
  "display_name": {
    "kind": "text",
    "description": "Display name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 120
  },
  "enabled": {
    "kind": "boolean",
    "description": "Whether tenants can launch (default: true)."
  },
  "disabled_reason": {
    "kind": "text",
    "isNullable": true,
    "description": "Shown to tenants while disabled.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "wipe_minimum": {
    "kind": "text",
    "description": "Minimum wipe level between two tenants (default: clear).",
    "options": [
      "clear",
      "purge"
    ]
  },
  "allows_wipe_override": {
    "kind": "boolean",
    "description": "Whether a two-person override makes a slot schedulable (default: false)."
  },
  "fabric_isolation": {
    "kind": "text",
    "description": "Provider that keeps tenants apart on the fabric (default: none). With `none`, VMs started from then on have no fabric function.",
    "options": [
      "none"
    ]
  }
} as const satisfies Inputs;

export const adminRegionRetire = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminSkuCreate = {
  "name": {
    "kind": "text",
    "isRequired": true,
    "description": "SKU code.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "display_name": {
    "kind": "text",
    "isRequired": true,
    "description": "Display name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 120
  },
  "vendor": {
    "kind": "text",
    "isRequired": true,
    "description": "Vendor of the GPU.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 64
  },
  "gpu_model": {
    "kind": "text",
    "isRequired": true,
    "description": "GPU model, as discovery reports it.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 64
  },
  "gpu_ids": {
    "kind": "list",
    "description": "PCI IDs, as vendor:device, of GPUs that are this model and that the product does not know. Hosts with such GPUs can then be added as this model.",
    "itemsMax": 32,
    "item": {
      "kind": "text",
      "isRequired": true,
      "pattern": "^[0-9a-f]{4}:[0-9a-f]{4}$"
    }
  },
  "capacity_shape": {
    "kind": "text",
    "isRequired": true,
    "options": [
      "baremetal",
      "gpu_slice"
    ]
  },
  "gpus_per_node": {
    "kind": "integer",
    "isRequired": true,
    "min": 1,
    "max": 64
  },
  "allowed_gpu_counts": {
    "kind": "list",
    "isRequired": true,
    "description": "GPU counts that a launch may request. Bare metal: only the whole node.",
    "itemsMin": 1,
    "itemsMax": 64,
    "item": {
      "kind": "integer",
      "isRequired": true,
      "min": 1,
      "max": 64
    }
  },
  "enabled": {
    "kind": "boolean",
    "description": "Whether tenants can launch it (default: true)."
  },
  "disabled_reason": {
    "kind": "text",
    "isNullable": true,
    "description": "Shown to tenants while disabled.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminSkuUpdate = {
  "display_name": {
    "kind": "text",
    "description": "Display name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 120
  },
  "gpu_ids": {
    "kind": "list",
    "description": "PCI IDs, as vendor:device, of GPUs that are this model and that the product does not know. Hosts with such GPUs can then be added as this model.",
    "itemsMax": 32,
    "item": {
      "kind": "text",
      "isRequired": true,
      "pattern": "^[0-9a-f]{4}:[0-9a-f]{4}$"
    }
  },
  "allowed_gpu_counts": {
    "kind": "list",
    "description": "GPU counts that a launch may request. Bare metal: only the whole node.",
    "itemsMin": 1,
    "itemsMax": 64,
    "item": {
      "kind": "integer",
      "isRequired": true,
      "min": 1,
      "max": 64
    }
  },
  "enabled": {
    "kind": "boolean",
    "description": "Whether tenants can launch it (default: true)."
  },
  "disabled_reason": {
    "kind": "text",
    "isNullable": true,
    "description": "Shown to tenants while disabled.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminSkuRetire = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminVmProfileCreate = {
  "name": {
    "kind": "text",
    "isRequired": true,
    "description": "Name of the VM profile, unique in the catalog.",
    "pattern": "^[a-z0-9_]{1,64}$"
  },
  "sku_name": {
    "kind": "text",
    "isRequired": true,
    "description": "SKU of the profile; a slice.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "gpu_count": {
    "kind": "integer",
    "isRequired": true,
    "min": 1,
    "max": 64
  },
  "vcpu_count": {
    "kind": "integer",
    "isRequired": true,
    "min": 1,
    "max": 1024
  },
  "memory_mib": {
    "kind": "integer",
    "isRequired": true,
    "min": 128,
    "max": 33554432
  },
  "hugepages": {
    "kind": "text",
    "description": "Memory page size. auto uses the largest huge pages that the host has, otherwise ordinary memory; 2M and 1G need such pages; none uses none.",
    "options": [
      "auto",
      "none",
      "2M",
      "1G"
    ]
  },
  "numa_policy": {
    "kind": "text",
    "description": "strict: CPUs and memory only from the NUMA nodes of its GPUs. preferred: CPUs from these, memory also from others. none: from any, and the guest sees one node.",
    "options": [
      "strict",
      "preferred",
      "none"
    ]
  },
  "is_default": {
    "kind": "boolean",
    "description": "Used by launches of this GPU count that name no profile. It replaces the earlier default."
  }
} as const satisfies Inputs;

export const adminVmProfileUpdate = {
  "vcpu_count": {
    "kind": "integer",
    "min": 1,
    "max": 1024
  },
  "memory_mib": {
    "kind": "integer",
    "min": 128,
    "max": 33554432
  },
  "hugepages": {
    "kind": "text",
    "description": "Memory page size. auto uses the largest huge pages that the host has, otherwise ordinary memory; 2M and 1G need such pages; none uses none.",
    "options": [
      "auto",
      "none",
      "2M",
      "1G"
    ]
  },
  "numa_policy": {
    "kind": "text",
    "description": "strict: CPUs and memory only from the NUMA nodes of its GPUs. preferred: CPUs from these, memory also from others. none: from any, and the guest sees one node.",
    "options": [
      "strict",
      "preferred",
      "none"
    ]
  },
  "is_default": {
    "kind": "boolean",
    "description": "Used by launches of this GPU count that name no profile. It replaces the earlier default."
  }
} as const satisfies Inputs;

export const adminVmProfileRetire = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminPriceCreate = {
  "sku_name": {
    "kind": "text",
    "isRequired": true,
    "description": "SKU that it is for.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "gpu_hourly_price_minor": {
    "kind": "integer",
    "isRequired": true,
    "description": "Price per GPU hour in minor units, e.g. cents.",
    "min": 0,
    "max": 10000000
  },
  "currency": {
    "kind": "text",
    "isRequired": true,
    "description": "ISO 4217 code.",
    "pattern": "^[A-Z]{3}$"
  },
  "valid_from": {
    "kind": "time",
    "description": "When it takes effect (default: now). Not in the past."
  }
} as const satisfies Inputs;

export const adminPriceCancel = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminPoolCreate = {
  "name": {
    "kind": "text",
    "isRequired": true,
    "description": "Name of the pool.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "purpose": {
    "kind": "text",
    "isNullable": true,
    "description": "What the pool is for, for operators.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "organization_id": {
    "kind": "text",
    "isNullable": true,
    "description": "The organization that it is dedicated to; null for a shared pool (default).",
    "pattern": "^org_[0-9a-hjkmnp-tv-z]{26}$"
  }
} as const satisfies Inputs;

export const adminPoolUpdate = {
  "purpose": {
    "kind": "text",
    "isNullable": true,
    "description": "What the pool is for, for operators.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "organization_id": {
    "kind": "text",
    "isNullable": true,
    "description": "The organization that it is dedicated to; null for a shared pool (default).",
    "pattern": "^org_[0-9a-hjkmnp-tv-z]{26}$"
  }
} as const satisfies Inputs;

export const adminPoolRetire = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminOsImageRegister = {
  "name": {
    "kind": "text",
    "isRequired": true,
    "description": "Image slug.",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$"
  },
  "display_name": {
    "kind": "text",
    "isRequired": true,
    "description": "Display name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 120
  },
  "os_family": {
    "kind": "text",
    "isRequired": true,
    "description": "Distribution.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 40
  },
  "os_version": {
    "kind": "text",
    "isRequired": true,
    "description": "Operating system version.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 40
  },
  "digest": {
    "kind": "text",
    "isRequired": true,
    "description": "Digest of the file that hosts download.",
    "pattern": "^sha256:[0-9a-f]{64}$"
  },
  "format": {
    "kind": "text",
    "isRequired": true,
    "options": [
      "raw",
      "qcow2"
    ]
  },
  "size_bytes": {
    "kind": "integer",
    "isRequired": true,
    "min": 1,
    "max": 9007199254740991
  },
  "boot_kind": {
    "kind": "text",
    "description": "How a VM starts the image: uefi runs its boot loader in firmware, kernel a kernel of the host. It is placed only on hosts that can.",
    "options": [
      "uefi",
      "kernel"
    ]
  },
  "driver_strategy": {
    "kind": "text",
    "isRequired": true,
    "description": "Whether the GPU driver is in the image. Nothing installs one later.",
    "options": [
      "preinstalled",
      "none"
    ]
  },
  "readiness_checks": {
    "kind": "list",
    "isRequired": true,
    "description": "Readiness checks that the image runs in the guest OS; all must pass.",
    "itemsMax": 32,
    "item": {
      "kind": "text",
      "isRequired": true,
      "pattern": "^[a-z][a-z0-9_]{0,31}$"
    }
  },
  "source": {
    "kind": "text",
    "isRequired": true,
    "description": "Source of the image.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "digest_authority": {
    "kind": "text",
    "isRequired": true,
    "description": "Authority for the digest of this image.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "sku_names": {
    "kind": "list",
    "isRequired": true,
    "description": "SKUs of slices that can use the image. Bare metal keeps the operating system of its node.",
    "itemsMin": 1,
    "itemsMax": 50,
    "item": {
      "kind": "text",
      "isRequired": true,
      "description": "Lower-case name, unique where it is used.",
      "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
      "lengthMax": 63
    }
  },
  "channel": {
    "kind": "text",
    "description": "A launch that names no image gets a stable one (default of a new image: stable).",
    "options": [
      "stable",
      "candidate"
    ]
  },
  "trust": {
    "kind": "text",
    "description": "A launch that names no image gets a verified one (default: unverified).",
    "options": [
      "unverified",
      "verified"
    ]
  }
} as const satisfies Inputs;

export const adminOsImageUpdate = {
  "display_name": {
    "kind": "text",
    "description": "Display name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 120
  },
  "channel": {
    "kind": "text",
    "description": "A launch that names no image gets a stable one (default of a new image: stable).",
    "options": [
      "stable",
      "candidate"
    ]
  },
  "trust": {
    "kind": "text",
    "description": "A launch that names no image gets a verified one (default: unverified).",
    "options": [
      "unverified",
      "verified"
    ]
  },
  "sku_names": {
    "kind": "list",
    "description": "SKUs of slices that can use the image. Bare metal keeps the operating system of its node.",
    "itemsMin": 1,
    "itemsMax": 50,
    "item": {
      "kind": "text",
      "isRequired": true,
      "description": "Lower-case name, unique where it is used.",
      "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
      "lengthMax": 63
    }
  }
} as const satisfies Inputs;

export const adminOsImageRetire = {
  "digest": {
    "kind": "text",
    "description": "The version to retire (default: the whole image).",
    "pattern": "^sha256:[0-9a-f]{64}$"
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, stored with the version and in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminAllocationForceRelease = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "charge_until": {
    "kind": "time",
    "description": "When the charge ends: not before it began, and not after now or the end that it has (default: now)."
  }
} as const satisfies Inputs;

export const adminAllocationForceCleanup = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  },
  "runtime_verified_absent": {
    "kind": "boolean",
    "isRequired": true
  }
} as const satisfies Inputs;

export const adminQuotaPut = {
  "organization_id": {
    "kind": "text",
    "isRequired": true,
    "description": "ID of the organization.",
    "pattern": "^org_[0-9a-hjkmnp-tv-z]{26}$"
  },
  "project_id": {
    "kind": "text",
    "description": "ID of the project.",
    "pattern": "^prj_[0-9a-hjkmnp-tv-z]{26}$"
  },
  "gpu_limit": {
    "kind": "integer",
    "isRequired": true,
    "isNullable": true,
    "min": 0,
    "max": 1000000
  }
} as const satisfies Inputs;

export const adminClaimBackfill = {
  "is_dry_run": {
    "kind": "boolean",
    "isRequired": true
  },
  "after_id": {
    "kind": "text",
    "description": "ID of the allocation.",
    "pattern": "^alc_[0-9a-hjkmnp-tv-z]{26}$"
  },
  "limit": {
    "kind": "integer",
    "description": "Allocations.",
    "min": 1,
    "max": 500
  }
} as const satisfies Inputs;

export const adminNodeCreate = {
  "name": {
    "kind": "text",
    "isRequired": true,
    "pattern": "^[A-Za-z0-9-]{1,64}$"
  },
  "region_name": {
    "kind": "text",
    "isRequired": true,
    "description": "Region of the host.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "pool_name": {
    "kind": "text",
    "description": "Pool of the node (default: \"shared\").",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "gpu_model": {
    "kind": "text",
    "isRequired": true,
    "description": "GPU model, as in the SKUs.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 64
  },
  "gpu_count": {
    "kind": "integer",
    "isRequired": true,
    "min": 1,
    "max": 64
  },
  "capacity_mode": {
    "kind": "text",
    "isRequired": true,
    "options": [
      "slice",
      "baremetal",
      "flexible"
    ]
  },
  "private_network": {
    "kind": "text",
    "description": "Private network of the slices, behind the NAT of the host.",
    "pattern": "^(\\d{1,3}\\.){3}\\d{1,3}/(1[6-9]|2[0-8])$"
  }
} as const satisfies Inputs;

export const adminNodeUpdate = {
  "pool_name": {
    "kind": "text",
    "isRequired": true,
    "description": "The pool to move it to.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeHold = {
  "is_held": {
    "kind": "boolean",
    "isRequired": true
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeLaunchFailuresClear = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminHoldCreate = {
  "region_name": {
    "kind": "text",
    "isRequired": true,
    "description": "Lower-case name, unique where it is used.",
    "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$",
    "lengthMax": 63
  },
  "gpu_model": {
    "kind": "text",
    "isRequired": true,
    "description": "GPU model.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 64
  },
  "node_count": {
    "kind": "integer",
    "isRequired": true,
    "min": 1,
    "max": 1000
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeDrain = {
  "is_draining": {
    "kind": "boolean",
    "isRequired": true
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeConvert = {
  "to": {
    "kind": "text",
    "isRequired": true,
    "options": [
      "slice",
      "baremetal"
    ]
  },
  "plan_hash": {
    "kind": "text",
    "isRequired": true,
    "pattern": "^[0-9a-f]{64}$"
  }
} as const satisfies Inputs;

export const adminNodeRetire = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeEnrollmentCreate = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeRebind = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeAgentRevoke = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeAgentUpdate = {
  "version": {
    "kind": "text",
    "isRequired": true,
    "pattern": "^[0-9A-Za-z.+-]{1,64}$"
  },
  "digest": {
    "kind": "text",
    "isRequired": true,
    "pattern": "^sha256:[0-9a-f]{64}$"
  }
} as const satisfies Inputs;

export const adminRestoreBegin = {
  "older_than": {
    "kind": "time",
    "description": "End credentials, sessions and tickets created before this time (default: now)."
  },
  "ends_certificates": {
    "kind": "boolean",
    "description": "End also the older certificates of nodes, where one was revoked since the backup (default false). Every node is enrolled again."
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeRestoreRelease = {
  "accepts_findings": {
    "kind": "boolean",
    "description": "Release although the last inventory report has findings (default false)."
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminClockConfirm = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeDiscoveryCreate = {} as const satisfies Inputs;

export const adminNodeSlotApprove = {
  "map_hash": {
    "kind": "text",
    "isRequired": true,
    "pattern": "^[0-9a-f]{64}$"
  },
  "slot_indexes": {
    "kind": "list",
    "itemsMin": 1,
    "itemsMax": 64,
    "item": {
      "kind": "integer",
      "isRequired": true,
      "min": 0,
      "max": 63
    }
  },
  "wipe_method": {
    "kind": "text",
    "options": [
      "nvme_sanitize",
      "nvme_format",
      "blkdiscard"
    ]
  }
} as const satisfies Inputs;

export const adminNodeSlotDisable = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeSlotEnable = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeSlotQuarantine = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeSlotRepair = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeSlotMarkWiped = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeDiskApprove = {
  "serial": {
    "kind": "text",
    "isRequired": true,
    "pattern": "^[A-Za-z0-9._-]{1,64}$"
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeDiskExclude = {
  "serial": {
    "kind": "text",
    "isRequired": true,
    "pattern": "^[A-Za-z0-9._-]{1,64}$"
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeDiskRevoke = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeHealthProbe = {} as const satisfies Inputs;

export const adminNodeHealthOverridePut = {
  "mode": {
    "kind": "text",
    "isRequired": true,
    "options": [
      "merge",
      "replace"
    ]
  },
  "muted_alert_ids": {
    "kind": "list",
    "isRequired": true,
    "itemsMax": 50,
    "item": {
      "kind": "text",
      "isRequired": true,
      "pattern": "^[a-z0-9_.-]{1,64}$"
    }
  },
  "expires_at": {
    "kind": "time",
    "isRequired": true,
    "isNullable": true,
    "description": "When the override expires; null for no expiry."
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminHealthBreakerReset = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeVmRemove = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeBundleLeaseEnd = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminNodeImagePull = {
  "image_name": {
    "kind": "text",
    "isRequired": true,
    "description": "Image slug.",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$"
  },
  "digest": {
    "kind": "text",
    "description": "A version that is not retired (default: the newest).",
    "pattern": "^sha256:[0-9a-f]{64}$"
  }
} as const satisfies Inputs;

export const adminNodeImageEvict = {
  "digest": {
    "kind": "text",
    "isRequired": true,
    "description": "Digest of the image.",
    "pattern": "^sha256:[0-9a-f]{64}$"
  }
} as const satisfies Inputs;

export const adminNodeImageVerify = {
  "digest": {
    "kind": "text",
    "isRequired": true,
    "description": "Digest of the image.",
    "pattern": "^sha256:[0-9a-f]{64}$"
  }
} as const satisfies Inputs;

export const adminPlatformKeyRotate = {
  "kind": {
    "kind": "text",
    "isRequired": true,
    "options": [
      "platform",
      "trust"
    ]
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminTrustKeyCreate = {
  "purpose": {
    "kind": "text",
    "isRequired": true,
    "options": [
      "node_ca",
      "task_signer",
      "certificate_signer"
    ]
  },
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminTrustKeyActivate = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminTrustKeyRetire = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminTrustKeyRevoke = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminSitePlan = {} as const satisfies Inputs;

export const adminSiteApply = {
  "hash": {
    "kind": "text",
    "isRequired": true,
    "description": "Identifies the file, the site that it was compared with, and the changes.",
    "pattern": "^[0-9a-f]{16}$"
  }
} as const satisfies Inputs;

export const adminSitePolicyUpdate = {
  "sign_up": {
    "kind": "text",
    "description": "Who may sign up. `closed`: no one. `invited`: people with a pending invitation to their verified email address, or in a mapped group. `approved`: everyone else waits until an operator approves. `open`: see `mail_domains`.",
    "options": [
      "closed",
      "invited",
      "approved",
      "open"
    ]
  },
  "mail_domains": {
    "kind": "list",
    "description": "With `open`: the domains whose verified email addresses may sign up. Empty for any address.",
    "itemsMax": 200,
    "item": {
      "kind": "text",
      "isRequired": true,
      "pattern": "^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$",
      "lengthMax": 253
    }
  },
  "default_gpu_limit": {
    "kind": "integer",
    "isNullable": true,
    "description": "GPU limit with which an organization starts; those that users create beyond their first start with 0. Null for no limit.",
    "min": 0,
    "max": 1000000
  },
  "contact": {
    "kind": "text",
    "isNullable": true,
    "description": "Contact shown to refused users: an address or a name.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 200
  }
} as const satisfies Inputs;

export const adminSignUpRequestApprove = {
  "reason": {
    "kind": "text",
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminSignUpRequestReject = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminQuotaRequestApprove = {
  "gpu_limit": {
    "kind": "integer",
    "description": "Default: the requested limit.",
    "min": 0,
    "max": 1000000
  },
  "reason": {
    "kind": "text",
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminQuotaRequestReject = {
  "reason": {
    "kind": "text",
    "isRequired": true,
    "description": "Reason, recorded in the audit row.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 240
  }
} as const satisfies Inputs;

export const adminGroupMappingCreate = {
  "group": {
    "kind": "text",
    "isRequired": true,
    "description": "Group as the issuer writes it in the groups claim, e.g. `research`.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 255
  },
  "organization_id": {
    "kind": "text",
    "isRequired": true,
    "description": "ID of the organization.",
    "pattern": "^org_[0-9a-hjkmnp-tv-z]{26}$"
  },
  "project_id": {
    "kind": "text",
    "description": "Omit it for a role in the organization.",
    "pattern": "^prj_[0-9a-hjkmnp-tv-z]{26}$"
  },
  "role": {
    "kind": "text",
    "isRequired": true,
    "description": "A group never makes an owner.",
    "options": [
      "admin",
      "member",
      "viewer"
    ]
  }
} as const satisfies Inputs;

export const adminGroupSyncPlan = {} as const satisfies Inputs;

export const adminGroupSyncApply = {
  "hash": {
    "kind": "text",
    "isRequired": true,
    "description": "Identifies the export and the changes that it leads to.",
    "pattern": "^[0-9a-f]{16}$"
  },
  "accept_warnings": {
    "kind": "boolean",
    "description": "Apply it although the plan has warnings."
  }
} as const satisfies Inputs;

export const adminBackupRecord = {
  "taken_at": {
    "kind": "time",
    "isRequired": true,
    "description": "The time of the data: when the backup began. Not in the future."
  },
  "location": {
    "kind": "text",
    "isRequired": true,
    "description": "Where it is stored, without credentials.",
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff<>]+$",
    "lengthMax": 500
  },
  "size_bytes": {
    "kind": "integer",
    "min": 0,
    "max": 9007199254740991
  }
} as const satisfies Inputs;
