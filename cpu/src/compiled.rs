//! The instruction set that the program is compiled for.

/// Returns the name of the instruction set that the program is compiled for: the highest x86-64 level that it
/// includes, or the architecture.
pub fn compiled_level() -> &'static str {
    if cfg!(not(target_arch = "x86_64")) {
        std::env::consts::ARCH
    } else if cfg!(all(target_feature = "avx512f", target_feature = "avx512bw", target_feature = "avx512vl")) {
        "x86-64-v4"
    } else if cfg!(all(target_feature = "avx2", target_feature = "bmi2", target_feature = "fma")) {
        "x86-64-v3"
    } else if cfg!(all(target_feature = "sse4.2", target_feature = "popcnt")) {
        "x86-64-v2"
    } else {
        "x86-64"
    }
}

/// Returns an instruction set extension that the program is compiled for and the processor lacks. The program
/// must then end, because its next instruction may be an invalid one.
///
/// The function itself uses instructions that all processors have as long as the compiler copies no large
/// values in it; `.ci/levels` tests it on emulated processors.
#[inline(never)]
pub fn missing_extension() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        use raw_cpuid::native_cpuid::cpuid_count;
        // Bits of the registers that CPUID returns for these leaves.
        let basic = cpuid_count(1, 0);
        let has_structured = cpuid_count(0, 0).eax >= 7;
        let structured = if has_structured { cpuid_count(7, 0).ebx } else { 0 };
        let more = if has_structured { cpuid_count(7, 0).ecx } else { 0 };
        let amd = if cpuid_count(0x8000_0000, 0).eax >= 0x8000_0001 { cpuid_count(0x8000_0001, 0).ecx } else { 0 };
        macro_rules! check {
            ($($extension:literal $register:expr, $bit:literal;)*) => {
                $(if cfg!(target_feature = $extension) && $register >> $bit & 1 == 0 {
                    return Some($extension);
                })*
            };
        }
        check! {
            "sse3" basic.ecx, 0;
            "pclmulqdq" basic.ecx, 1;
            "ssse3" basic.ecx, 9;
            "fma" basic.ecx, 12;
            "cmpxchg16b" basic.ecx, 13;
            "sse4.1" basic.ecx, 19;
            "sse4.2" basic.ecx, 20;
            "movbe" basic.ecx, 22;
            "popcnt" basic.ecx, 23;
            "aes" basic.ecx, 25;
            "avx" basic.ecx, 28;
            "f16c" basic.ecx, 29;
            "bmi1" structured, 3;
            "avx2" structured, 5;
            "bmi2" structured, 8;
            "avx512f" structured, 16;
            "avx512dq" structured, 17;
            "adx" structured, 19;
            "avx512ifma" structured, 21;
            "avx512cd" structured, 28;
            "sha" structured, 29;
            "avx512bw" structured, 30;
            "avx512vl" structured, 31;
            "avx512vbmi" more, 1;
            "avx512vbmi2" more, 6;
            "gfni" more, 8;
            "vaes" more, 9;
            "vpclmulqdq" more, 10;
            "avx512vnni" more, 11;
            "avx512bitalg" more, 12;
            "avx512vpopcntdq" more, 14;
            "lzcnt" amd, 5;
            "sse4a" amd, 6;
        }
    }
    None
}
