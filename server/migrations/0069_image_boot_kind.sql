-- How a VM starts an image: in firmware, or with a kernel of the host. Images before said nothing and were meant for firmware.
alter table os_image_versions
  add column boot_kind text not null default 'uefi' constraint boot_kind_is_known check (boot_kind in ('uefi', 'kernel'));

-- Of the newest discovery; null before an agent of this release reported any, which counts as uefi.
-- blocks nodes: one row for each host of the site
alter table nodes
  add column host_boot_kinds text[] constraint host_boot_kinds_are_known check (host_boot_kinds <@ array['uefi', 'kernel']);
