//! Who may do what.

use std::fmt;
use std::str::FromStr;

/// The role a server is started in. Each one may do everything the one before may.
///
/// ```
/// use trunkline_orders::{Right, Role};
/// let clerk: Role = "clerk".parse()?;
/// assert!(clerk.may(Right::Cancel) && !clerk.may(Right::Purge));
/// assert!(Role::Admin > Role::Clerk);
/// # Ok::<(), trunkline_orders::UnknownRole>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Role {
    /// Counts, lists and reads orders.
    #[default]
    Viewer,
    /// Cancels orders as well.
    Clerk,
    /// Purges test orders as well.
    Admin,
}

/// What an operation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// Count, list and read orders.
    Read,
    /// Cancel an order.
    Cancel,
    /// Remove test orders.
    Purge,
}

impl Right {
    /// The lowest role that has this right.
    pub fn role(self) -> Role {
        match self {
            Self::Read => Role::Viewer,
            Self::Cancel => Role::Clerk,
            Self::Purge => Role::Admin,
        }
    }
}

impl Role {
    /// Every role, the one with the fewest rights first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Clerk, Self::Admin];

    /// The word for the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Clerk => "clerk",
            Self::Admin => "admin",
        }
    }

    /// Whether this role has a right.
    pub fn may(self, right: Right) -> bool {
        self >= right.role()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRole(String);

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no role {:?}; the roles are viewer, clerk and admin",
            self.0
        )
    }
}

impl std::error::Error for UnknownRole {}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, UnknownRole> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|role| role.as_str().eq_ignore_ascii_case(word))
            .ok_or_else(|| UnknownRole(word.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_grow_with_the_role() {
        let rights = |role: Role| [Right::Read, Right::Cancel, Right::Purge].map(|right| role.may(right));
        assert_eq!(rights(Role::Viewer), [true, false, false]);
        assert_eq!(rights(Role::Clerk), [true, true, false]);
        assert_eq!(rights(Role::Admin), [true, true, true]);
        assert_eq!(Role::default(), Role::Viewer, "the least is given when none is named");
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
            assert_eq!(format!(" {} ", role.as_str().to_uppercase()).parse(), Ok(role));
        }
        for word in ["", "root", "관리자", "view"] {
            let text = word.parse::<Role>().unwrap_err().to_string();
            assert!(
                text.contains(word) && text.contains("viewer, clerk and admin"),
                "{text}"
            );
        }
        assert!("x".repeat(10_000).parse::<Role>().unwrap_err().to_string().len() < 200);
    }
}
