//! The memory of the machine, or the part of it that this process may use.
//!
//! On Linux, a process belongs to control groups, each of which may have a memory limit: those of a container, of a
//! service of systemd, or of a job of Slurm. The limit of every group from that of the process up to the root holds.
//! Pages of files that a group has read or written count as its memory; the kernel takes them back at need, so they
//! are available here.

use std::path::Path;
#[cfg(any(target_os = "linux", test))]
use std::path::PathBuf;

/// The memory of this process, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The memory of the machine, or the lowest limit of a control group.
    pub total: u64,
    /// The part that is free, or that the system takes from its cache of files at need.
    pub available: u64,
}

impl Memory {
    /// Returns the memory at present, or `None` if the system does not report it.
    pub fn now() -> Option<Memory> {
        let memory = read(Path::new("/"))?;
        (memory.total > 0).then_some(memory)
    }
}

#[cfg(not(target_os = "linux"))]
fn read(_: &Path) -> Option<Memory> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    Some(Memory { total: system.total_memory(), available: system.available_memory() })
}

#[cfg(target_os = "linux")]
fn read(root: &Path) -> Option<Memory> {
    read_linux(root)
}

/// Reads the memory of the system whose files are below `root`.
#[cfg(any(target_os = "linux", test))]
fn read_linux(root: &Path) -> Option<Memory> {
    let meminfo = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let kibibytes = |key| number_after(&meminfo, key).map(|number| number.saturating_mul(1 << 10));
    let machine = Memory { total: kibibytes("MemTotal:")?, available: kibibytes("MemAvailable:")? };
    Some(groups(root).iter().filter_map(|group| group.memory()).fold(machine, |least, group| Memory {
        total: least.total.min(group.total),
        available: least.available.min(group.available),
    }))
}

/// The two versions of control groups, whose files have different names.
#[cfg(any(target_os = "linux", test))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

/// The directory of a control group.
#[cfg(any(target_os = "linux", test))]
#[derive(PartialEq, Eq, Debug)]
struct Group {
    version: Version,
    dir: PathBuf,
}

#[cfg(any(target_os = "linux", test))]
impl Group {
    /// Returns the memory of the group, or `None` if it has no limit.
    fn memory(&self) -> Option<Memory> {
        let text = |name: &str| std::fs::read_to_string(self.dir.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        let stat = text("memory.stat").unwrap_or_default();
        let (limit, used, keys) = match self.version {
            // The totals include the groups below this one.
            Version::One => (
                number("memory.limit_in_bytes"),
                number("memory.usage_in_bytes"),
                ["total_inactive_file ", "total_active_file "],
            ),
            // Above `memory.high`, the kernel slows a group down until it has less.
            Version::Two => (
                [number("memory.max"), number("memory.high")].into_iter().flatten().min(),
                number("memory.current"),
                ["inactive_file ", "active_file "],
            ),
        };
        let total = limit?;
        let cache = keys.iter().filter_map(|key| number_after(&stat, key)).sum();
        let used = used.unwrap_or(0).saturating_sub(cache);
        Some(Memory { total, available: total.saturating_sub(used) })
    }
}

/// Returns the control groups of this process, with all groups above them.
#[cfg(any(target_os = "linux", test))]
fn groups(root: &Path) -> Vec<Group> {
    let text = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    let (own, mounts) = (text("proc/self/cgroup"), text("proc/self/mountinfo"));
    let below_root = |path: &str| root.join(path.trim_start_matches('/'));
    // A container may see only these directories, which are then those of its own groups.
    let usual = [(Version::Two, "/sys/fs/cgroup"), (Version::One, "/sys/fs/cgroup/memory")];
    let mut groups: Vec<Group> =
        usual.into_iter().map(|(version, dir)| Group { version, dir: below_root(dir) }).collect();
    for mount in mounts.lines().filter_map(Mount::parse) {
        let top = below_root(&mount.point);
        let paths = own.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let belongs = match mount.version {
                Version::One => controllers.split(',').any(|controller| controller == "memory"),
                Version::Two => controllers.is_empty(),
            };
            belongs.then_some(path)
        });
        for path in paths {
            // A path outside of what is mounted belongs to a group that is not visible here.
            let inner = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
            let dir = top.join(inner);
            let above = dir.ancestors().take_while(|dir| dir.starts_with(&top));
            groups.extend(above.map(|dir| Group { version: mount.version, dir: dir.to_owned() }));
        }
    }
    groups
}

/// A mounted hierarchy of control groups with memory limits.
#[cfg(any(target_os = "linux", test))]
struct Mount {
    version: Version,
    /// The group that is mounted.
    root: String,
    /// The directory of that group.
    point: String,
}

#[cfg(any(target_os = "linux", test))]
impl Mount {
    /// Parses a line of `/proc/self/mountinfo`; see proc_pid_mountinfo(5).
    fn parse(line: &str) -> Option<Mount> {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut system = system.split(' ');
        let version = match (system.next()?, system.nth(1)?) {
            ("cgroup2", _) => Version::Two,
            ("cgroup", options) if options.split(',').any(|option| option == "memory") => Version::One,
            _ => return None,
        };
        Some(Mount { version, root: unescape(root), point: unescape(point) })
    }
}

/// Replaces the escapes of blanks, tabs, line ends and backslashes in a path of `mountinfo`.
#[cfg(any(target_os = "linux", test))]
fn unescape(path: &str) -> String {
    [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")]
        .iter()
        .fold(path.to_owned(), |path, (escape, character)| path.replace(escape, character))
}

/// Returns the number in the line that begins with `key`.
#[cfg(any(target_os = "linux", test))]
fn number_after(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A directory with the files of a system of 64 GiB, of which 48 GiB are available.
    struct FakeSystem(tempfile::TempDir);

    impl FakeSystem {
        fn new(cgroup: &str, mountinfo: &str) -> FakeSystem {
            let system = FakeSystem(tempfile::tempdir().unwrap());
            system.write("proc/meminfo", "MemTotal: 67108864 kB\nMemFree: 1 kB\nMemAvailable: 50331648 kB\n");
            system.write("proc/self/cgroup", cgroup);
            system.write("proc/self/mountinfo", mountinfo);
            system
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        /// Adds a group of version 2 with a limit and parts of its memory.
        fn group(&self, path: &str, limit: &str, used: u64, cache: u64) {
            self.write(&format!("{path}/memory.max"), &format!("{limit}\n"));
            self.write(&format!("{path}/memory.current"), &format!("{used}\n"));
            let stat = format!("anon 7\nfile 9\ninactive_file {}\nactive_file {}\n", cache - cache / 4, cache / 4);
            self.write(&format!("{path}/memory.stat"), &stat);
        }

        fn read(&self) -> Memory {
            read_linux(self.0.path()).unwrap()
        }
    }

    const MOUNT_2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn without_limits_the_memory_is_that_of_the_machine() {
        let machine = Memory { total: 64 * GIB, available: 48 * GIB };
        assert_eq!(FakeSystem::new("", "").read(), machine);
        let system = FakeSystem::new("0::/user.slice\n", MOUNT_2);
        system.group("sys/fs/cgroup/user.slice", "max", 60 * GIB, 0);
        assert_eq!(system.read(), machine);
        assert_eq!(read_linux(Path::new("/absent")), None);
    }

    #[test]
    fn the_cache_of_files_in_a_container_is_available() {
        let system = FakeSystem::new("0::/\n", MOUNT_2);
        system.group("sys/fs/cgroup", &(8 * GIB).to_string(), 8 * GIB, 7 * GIB);
        assert_eq!(system.read(), Memory { total: 8 * GIB, available: 7 * GIB });
        // More is cached than counted, for an instant.
        system.group("sys/fs/cgroup", &(8 * GIB).to_string(), GIB, 2 * GIB);
        assert_eq!(system.read(), Memory { total: 8 * GIB, available: 8 * GIB });
    }

    #[test]
    fn the_limit_of_every_group_above_the_process_holds() {
        let system = FakeSystem::new("0::/slurm/job_7/step_0\n", MOUNT_2);
        system.group("sys/fs/cgroup/slurm", &(32 * GIB).to_string(), 30 * GIB, GIB);
        system.group("sys/fs/cgroup/slurm/job_7", &(16 * GIB).to_string(), 9 * GIB, 4 * GIB);
        system.group("sys/fs/cgroup/slurm/job_7/step_0", "max", 9 * GIB, 4 * GIB);
        // Another job has its own limit.
        system.group("sys/fs/cgroup/slurm/job_8", &GIB.to_string(), GIB, 0);
        // The job has the lowest limit, and its parent the least left.
        assert_eq!(system.read(), Memory { total: 16 * GIB, available: 3 * GIB });
        system.write("sys/fs/cgroup/slurm/job_7/step_0/memory.high", &format!("{}\n", 10 * GIB));
        assert_eq!(system.read(), Memory { total: 10 * GIB, available: 3 * GIB });
    }

    #[test]
    fn the_first_version_of_control_groups_has_other_files() {
        let system = FakeSystem::new(
            "4:cpu,cpuacct:/other\n5:memory,hugetlb:/jobs/a b\n0::/\n",
            "33 31 0:30 / /groups/cpu rw - cgroup cgroup rw,cpu\n\
             35 31 0:32 /jobs /groups/my\\040memory rw,relatime shared:9 - cgroup cgroup rw,memory,hugetlb\n",
        );
        let dir = "groups/my memory/a b";
        system.write(&format!("{dir}/memory.limit_in_bytes"), &(4 * GIB).to_string());
        system.write(&format!("{dir}/memory.usage_in_bytes"), &(3 * GIB).to_string());
        let stat = format!("inactive_file 1\nactive_file 2\ntotal_inactive_file {GIB}\ntotal_active_file {GIB}\n");
        system.write(&format!("{dir}/memory.stat"), &stat);
        system.write("groups/my memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(system.read(), Memory { total: 4 * GIB, available: 3 * GIB });
    }

    #[test]
    fn a_container_without_the_path_of_its_group_has_the_usual_directories() {
        let system = FakeSystem::new("5:memory:/docker/ab\n0::/../x\n", "");
        system.group("sys/fs/cgroup", &(2 * GIB).to_string(), GIB, 0);
        assert_eq!(system.read(), Memory { total: 2 * GIB, available: GIB });
    }

    #[test]
    fn this_machine_has_memory() {
        let memory = Memory::now().expect("the systems of the tests report their memory");
        assert!(memory.total >= 1 << 26 && memory.available <= memory.total, "{memory:?}");
    }
}
